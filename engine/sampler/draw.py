"""Drawing tokens from logits: temperature, top-k, top-p and min-p, one uniform number for each row.

Which path a row takes, and so which token a number stands for, depends on that row alone: the rest
of the batch never changes what a request gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from engine.sampler.draw_kernel import draw_rows
from engine.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.request import SamplingParams
    from engine.sampler.state import SamplingState

_NUM_CANDIDATES: Final = 1024
"""Top-k and top-p look at this many likeliest tokens first; sorting the whole vocabulary takes many
times longer, and is done only for rows whose nucleus is wider."""

_MIN_TEMPERATURE: Final = 1e-30
_MAX_TEMPERATURE: Final = 1e30
"""Normal numbers in float32; as good as greedy, and as good as uniform. An infinite temperature
would turn the -inf of an impossible token into NaN."""


@dataclass(frozen=True, slots=True)
class RowParams:
    """The rows' parameters as columns, (num_rows, 1); top_k is the vocabulary size where off."""

    temperature: torch.Tensor
    top_k: torch.Tensor
    top_p: torch.Tensor
    min_p: torch.Tensor
    uniform: torch.Tensor
    has_min_p: bool
    is_filtered: list[bool]

    @classmethod
    def from_states(cls, states: Sequence[SamplingState], like: torch.Tensor) -> RowParams:
        def column(values: list[float], dtype: torch.dtype) -> torch.Tensor:
            return to_device(values, like.device, dtype).unsqueeze(1)

        vocab_size = like.shape[1]
        params = [state.params for state in states]
        return cls(
            temperature=column([usable_temperature(p.temperature) for p in params], like.dtype),
            top_k=column([min(p.top_k or vocab_size, vocab_size) for p in params], torch.int64),
            top_p=column([p.top_p for p in params], torch.float64),
            min_p=column([p.min_p for p in params], like.dtype),
            uniform=column([state.next_uniform() for state in states], torch.float64),
            has_min_p=any(p.min_p > 0 for p in params),
            is_filtered=[_is_filtered(p, vocab_size) for p in params],
        )

    def take(self, rows: torch.Tensor) -> RowParams:
        return RowParams(
            temperature=self.temperature[rows],
            top_k=self.top_k[rows],
            top_p=self.top_p[rows],
            min_p=self.min_p[rows],
            uniform=self.uniform[rows],
            has_min_p=self.has_min_p,
            is_filtered=[self.is_filtered[row] for row in rows.tolist()],
        )


def usable_temperature(temperature: float) -> float:
    """The temperature as a normal number in float32."""
    return min(max(temperature, _MIN_TEMPERATURE), _MAX_TEMPERATURE)


def draw_tokens(
    logits: torch.Tensor, largest: torch.Tensor, states: Sequence[SamplingState]
) -> torch.Tensor:
    """One token for each row.

    Args:
        logits: float32, (num_rows, padded_vocab_size), contiguous.
        largest: (num_rows,), the largest logit of each row.
        states: of the rows; their temperature is above 0.

    Returns:
        int64, (num_rows,); always a token whose logit is not -inf, if the row's largest logit is
        finite, else any token.
    """
    return draw_tokens_by(logits, largest, RowParams.from_states(states, logits))


def draw_tokens_by(logits: torch.Tensor, largest: torch.Tensor, params: RowParams) -> torch.Tensor:
    """The same as `draw_tokens`; on a device, without waiting for it if no row is filtered."""
    if logits.device.type != "cpu":
        return draw_tokens_reference(logits, largest, params)
    tokens = torch.zeros(len(logits), dtype=torch.int64)
    draw_rows(
        logits.numpy(),
        largest.numpy(),
        params.temperature[:, 0].numpy(),
        params.top_k[:, 0].numpy(),
        params.top_p[:, 0].numpy(),
        params.min_p[:, 0].numpy(),
        params.uniform[:, 0].numpy(),
        tokens.numpy(),
    )
    return tokens


def draw_tokens_reference(
    logits: torch.Tensor, largest: torch.Tensor, params: RowParams
) -> torch.Tensor:
    """The same as `draw_tokens`, in plain torch."""
    # The largest becomes 0, so no temperature however small can overflow. softmax works row by row;
    # an elementwise exp over the whole tensor would round a row's last values by the batch's size.
    weights = torch.softmax((logits - largest[:, None]) / params.temperature, dim=1)
    if not any(params.is_filtered):
        return _draw_plain(weights, params)
    if all(params.is_filtered):
        return _draw_filtered(weights, params)
    tokens = torch.empty(len(logits), dtype=torch.int64, device=logits.device)
    is_filtered = params.is_filtered
    plain, filtered = (
        to_device([row for row, flag in enumerate(is_filtered) if flag is wanted], logits.device)
        for wanted in (False, True)
    )
    tokens[plain] = _draw_plain(weights[plain], params.take(plain))
    tokens[filtered] = _draw_filtered(weights[filtered], params.take(filtered))
    return tokens


def _is_filtered(params: SamplingParams, vocab_size: int) -> bool:
    return params.top_p < 1 or (params.top_k is not None and params.top_k < vocab_size)


def _draw_plain(weights: torch.Tensor, params: RowParams) -> torch.Tensor:
    """Rows without top-k and top-p: invert the distribution in the order of token ids."""
    if params.has_min_p:
        is_too_small = weights < params.min_p * weights.amax(1, keepdim=True)
        weights = weights.masked_fill(is_too_small, 0)
    return _invert(weights, params.uniform)


def _draw_filtered(weights: torch.Tensor, params: RowParams) -> torch.Tensor:
    """Rows with top-k or top-p: invert among the likeliest, sorted."""
    vocab_size = weights.shape[1]
    total = weights.sum(1, keepdim=True, dtype=torch.float64)
    num_candidates = min(_NUM_CANDIDATES, vocab_size)
    candidates, token_ids = weights.topk(num_candidates, dim=1)
    tokens = _draw_sorted(candidates, token_ids, total, params)
    has_top_k = params.top_k < vocab_size
    is_decided = torch.where(
        has_top_k,
        params.top_k <= num_candidates,
        candidates.sum(1, keepdim=True, dtype=torch.float64) >= params.top_p * total,
    )
    # On a device this waits for it: the host must know which rows need the whole sort.
    rest = (~is_decided[:, 0]).nonzero()[:, 0]
    if len(rest):
        ordered, token_ids = weights[rest].sort(dim=1, descending=True, stable=True)
        tokens[rest] = _draw_sorted(ordered, token_ids, total[rest], params.take(rest))
    return tokens


def _draw_sorted(
    weights: torch.Tensor, token_ids: torch.Tensor, total: torch.Tensor, params: RowParams
) -> torch.Tensor:
    """Top-k, then top-p of what is left, then min-p; at least the likeliest token stays.

    Args:
        weights: float32, (num_rows, n), largest first.
        token_ids: int64, (num_rows, n).
        total: float64, (num_rows, 1), the weight of the whole vocabulary.
        params: of the rows.
    """
    rank = torch.arange(weights.shape[1], device=weights.device)
    is_within_k = rank < params.top_k
    kept = weights * is_within_k
    is_uncut = is_within_k.all(1, keepdim=True)
    mass = torch.where(is_uncut, total, kept.sum(1, keepdim=True, dtype=torch.float64))
    mass_before = kept.cumsum(1, dtype=torch.float64) - kept
    keep = (mass_before < params.top_p * mass) & (weights >= params.min_p * weights[:, :1])
    keep[:, 0] = True
    drawn = _invert(kept * keep, params.uniform)
    return token_ids.gather(1, drawn.unsqueeze(1))[:, 0]


def _invert(weights: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """The index at which the running sum of the weights passes uniform times their sum."""
    sums = weights.cumsum(1, dtype=torch.float64)
    index = torch.searchsorted(sums, uniform * sums[:, -1:], right=True)
    index = index.clamp_(max=weights.shape[1] - 1)
    # Rounding (and parallel scans, which need not be monotone) can point at a weight of 0.
    is_possible = weights.gather(1, index) > 0
    return torch.where(is_possible, index, weights.argmax(1, keepdim=True))[:, 0]
