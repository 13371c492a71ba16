"""SamplingState: what the sampler keeps for one sequence from token to token."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch

from engine.sampler.randomness import fresh_seed, uniform
from engine.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.request import SamplingParams


class SamplingState:
    """Parameters, seed and, only where a penalty needs them, the tokens seen.

    Args:
        params: as asked.
        prompt_token_ids: for the repetition penalty.
    """

    def __init__(self, params: SamplingParams, prompt_token_ids: Sequence[int]) -> None:
        self.params = params
        self.num_recorded = 0
        self._seed = fresh_seed() if params.seed is None else params.seed
        self._prompt_token_ids = prompt_token_ids
        self._uncounted_token_ids: list[int] = []
        self._counts: tuple[torch.Tensor, torch.Tensor] | None = None

    def record(self, token_id: int) -> None:
        """Count a generated token."""
        self.num_recorded += 1
        if self.has_penalties:
            self._uncounted_token_ids.append(token_id)

    def after(self, token_ids: Sequence[int]) -> SamplingState:
        """What this state will be once `token_ids` were recorded; this one is not changed."""
        if not token_ids:
            return self
        following = copy.copy(self)
        following._fork_counts()  # noqa: SLF001  # another of this class
        for token_id in token_ids:
            following.record(token_id)
        return following

    def _fork_counts(self) -> None:
        """Own what the penalties look at, after a shallow copy."""
        self._uncounted_token_ids = list(self._uncounted_token_ids)
        if self._counts is not None:
            counts, is_seen = self._counts
            self._counts = (counts.clone(), is_seen.clone())

    @property
    def has_penalties(self) -> bool:
        """Whether any penalty is on."""
        params = self.params
        return bool(
            params.presence_penalty or params.frequency_penalty or params.repetition_penalty != 1.0
        )

    def next_uniform(self) -> float:
        """The random number of the next token, the same however often it is asked for."""
        return uniform(self._seed, self.num_recorded)

    def next_uniforms(self, count: int) -> list[float]:
        """Those of the next `count` tokens."""
        return [uniform(self._seed, self.num_recorded + index) for index in range(count)]

    def token_counts(self, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What the penalties look at: the tokens recorded so far.

        Args:
            like: (padded_vocab_size,) float; gives width, dtype and device.

        Returns:
            How often each token was generated, (padded_vocab_size,) of `like`'s dtype, and whether
            it occurs in prompt or output, bool. Owned by the state.
        """
        if self._counts is None:
            is_seen = torch.zeros_like(like, dtype=torch.bool)
            is_seen[to_device(self._prompt_token_ids, like.device, torch.int64)] = True
            self._counts = (torch.zeros_like(like), is_seen)
        counts, is_seen = self._counts
        if self._uncounted_token_ids:
            token_ids = to_device(self._uncounted_token_ids, like.device)
            counts.index_add_(0, token_ids, like.new_ones(len(token_ids)))
            is_seen[token_ids] = True
            self._uncounted_token_ids = []
        return counts, is_seen
