"""sample: one token for each row of logits; the constraint's mask is applied last and wins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from engine.device.mask_pool import ALL_TOKENS
from engine.device.shaping import Adjustments, shape_logits
from engine.sampler.draw import draw_tokens
from engine.sampler.largest_kernel import find_largest
from engine.sampler.logprobs import gather_logprobs
from engine.sampler.processors import apply_penalties
from engine.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.output import TokenLogprobs
    from engine.sampler.state import SamplingState


@dataclass(frozen=True, slots=True)
class SampledToken:
    """A row's result.

    Args:
        token_id: None where the row had no usable logit at all: NaN, infinity, or all impossible.
        logprobs: None where not asked for.
        was_narrowed: whether the token limit has kept tokens out of the constraint's mask.
    """

    token_id: int | None
    logprobs: TokenLogprobs | None = None
    was_narrowed: bool = False


@torch.inference_mode()
def sample(
    logits: torch.Tensor,
    states: Sequence[SamplingState],
    *,
    suppressed: dict[int, list[int]],
    mask_rows: torch.Tensor,
    row_ids: Sequence[int],
) -> list[SampledToken]:
    """Choose a token for each row.

    Args:
        logits: float32, (num_rows, padded_vocab_size); changed in place.
        states: of the rows.
        suppressed: row -> tokens made impossible; only rows without a constraint.
        mask_rows: int32, (num_masks, ceil(padded_vocab_size / 32)), see `MaskPool`.
        row_ids: which of them each row is under; ALL_TOKENS where there is no constraint.
    """
    model_logits = {
        row: logits[row].clone()
        for row, state in enumerate(states)
        if state.params.num_logprobs is not None and state.params.logprobs_of == "model"
    }
    apply_penalties(logits, states)
    adjustments = _adjustments(states, suppressed, logits.device)
    if adjustments is not None or any(row_id != ALL_TOKENS for row_id in row_ids):
        shape_logits(logits, mask_rows, to_device(row_ids, logits.device, torch.int32), adjustments)

    largest, tokens = largest_logits(logits)
    random_rows = [row for row, state in enumerate(states) if state.params.temperature > 0]
    if random_rows:
        # A row that is not usable gives some token, which is dropped below.
        random_states = [states[row] for row in random_rows]
        if len(random_rows) == len(states):
            tokens = draw_tokens(logits, largest, random_states)
        else:
            index = to_device(random_rows, logits.device)
            tokens[index] = draw_tokens(logits[index], largest[index], random_states)

    # Waits for the device: the host must know the tokens to go on. Logprobs, where asked for, and
    # nuclei that are wider than the first candidates wait for it too.
    usable: list[bool] = largest.isfinite().tolist()
    token_ids: list[int] = tokens.tolist()
    logprobs = _logprobs(logits, model_logits, tokens, states, usable)
    return [
        SampledToken(token_id if is_usable else None, logprobs.get(row))
        for row, (token_id, is_usable) in enumerate(zip(token_ids, usable, strict=True))
    ]


def _adjustments(
    states: Sequence[SamplingState], suppressed: dict[int, list[int]], device: torch.device
) -> Adjustments | None:
    """Biases and suppressed tokens; None where no row has any."""
    if not suppressed and not any(state.params.logit_bias for state in states):
        return None
    changes = [dict(state.params.logit_bias) for state in states]
    for row, impossible in suppressed.items():
        changes[row] |= dict.fromkeys(impossible, -math.inf)
    return Adjustments.from_rows(changes, device)


def largest_logits(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest logit of each row, NaN where there is one, and the first token that has it."""
    if logits.device.type != "cpu":
        largest, tokens = logits.max(dim=1)
        return largest, tokens
    largest = torch.empty(len(logits))
    tokens = torch.empty(len(logits), dtype=torch.int64)
    find_largest(logits.numpy(), largest.numpy(), tokens.numpy())
    return largest, tokens


def _logprobs(
    logits: torch.Tensor,
    model_logits: dict[int, torch.Tensor],
    tokens: torch.Tensor,
    states: Sequence[SamplingState],
    usable: list[bool],
) -> dict[int, TokenLogprobs]:
    """Those of the rows that want them and have a token, by row."""
    rows = [
        row
        for row, state in enumerate(states)
        if state.params.num_logprobs is not None and usable[row]
    ]
    if not rows:
        return {}
    found = gather_logprobs(
        torch.stack([model_logits.get(row, logits[row]) for row in rows]),
        tokens[rows],
        [states[row].params.num_logprobs or 0 for row in rows],
    )
    return dict(zip(rows, found, strict=True))
