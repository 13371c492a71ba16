"""What changes logits before the constraint's mask: penalties, bias, suppressed end tokens.

Each takes all logits of the step and the states by row, changes them in place, and touches only the
rows that use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.sampler.state import SamplingState


def apply_penalties(logits: torch.Tensor, states: Sequence[SamplingState]) -> None:
    """Repetition penalty, then frequency and presence penalty (see `SamplingParams`)."""
    rows = [row for row, state in enumerate(states) if state.has_penalties]
    if not rows:
        return
    counts, is_seen = (
        torch.stack(tensors)
        for tensors in zip(*(states[row].token_counts(logits[row]) for row in rows), strict=True)
    )
    index = torch.tensor(rows, device=logits.device)
    params = [states[row].params for row in rows]
    repetition = logits.new_tensor([[p.repetition_penalty] for p in params])
    frequency = logits.new_tensor([[p.frequency_penalty] for p in params])
    presence = logits.new_tensor([[p.presence_penalty] for p in params])
    penalised = logits[index]
    repeated = torch.where(penalised > 0, penalised / repetition, penalised * repetition)
    penalised = torch.where(is_seen, repeated, penalised)
    penalised -= frequency * counts + presence * (counts > 0)
    logits[index] = penalised


def apply_bias(logits: torch.Tensor, states: Sequence[SamplingState]) -> None:
    """Add each request's `logit_bias`."""
    for row, state in enumerate(states):
        if state.params.logit_bias:
            token_ids, values = state.bias(logits.device)
            logits[row, token_ids] += values


def suppress_tokens(logits: torch.Tensor, token_ids_by_row: dict[int, list[int]]) -> None:
    """Make tokens impossible: the end tokens of unconstrained sequences under `min_tokens`."""
    for row, token_ids in token_ids_by_row.items():
        logits[row, torch.tensor(token_ids, device=logits.device)] = -torch.inf
