"""apply_penalties: what lowers the logits of tokens that were written before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engine.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.sampler.state import SamplingState


def apply_penalties(logits: torch.Tensor, states: Sequence[SamplingState]) -> None:
    """Repetition penalty, then frequency and presence penalty (see `SamplingParams`), in place.

    Args:
        logits: float32, (num_rows, padded_vocab_size); only rows that have penalties are touched.
        states: of the rows.
    """
    rows = [row for row, state in enumerate(states) if state.has_penalties]
    if not rows:
        return
    counts, is_seen = (
        torch.stack(tensors)
        for tensors in zip(*(states[row].token_counts(logits[row]) for row in rows), strict=True)
    )
    index = to_device(rows, logits.device)
    params = [states[row].params for row in rows]

    def column(values: list[float]) -> torch.Tensor:
        return to_device(values, logits.device, logits.dtype).unsqueeze(1)

    repetition = column([p.repetition_penalty for p in params])
    frequency = column([p.frequency_penalty for p in params])
    presence = column([p.presence_penalty for p in params])
    penalised = logits[index]
    repeated = torch.where(penalised > 0, penalised / repetition, penalised * repetition)
    penalised = torch.where(is_seen, repeated, penalised)
    penalised -= frequency * counts + presence * (counts > 0)
    logits[index] = penalised
