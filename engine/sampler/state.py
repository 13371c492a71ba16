"""SamplingState: what the sampler keeps for one sequence from token to token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engine.sampler.randomness import fresh_seed, uniform

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
        self._output_token_ids: list[int] = []
        self._output_counts: torch.Tensor | None = None
        self._is_seen: torch.Tensor | None = None
        self._bias: tuple[torch.Tensor, torch.Tensor] | None = None

    def record(self, token_id: int) -> None:
        """Count a generated token."""
        self.num_recorded += 1
        if self.has_penalties:
            self._output_token_ids.append(token_id)
            if self._output_counts is not None and self._is_seen is not None:
                self._output_counts[token_id] += 1
                self._is_seen[token_id] = True

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

    def token_counts(self, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What the penalties look at, kept up to date by `record`.

        Args:
            like: (padded_vocab_size,) float; gives width, dtype and device.

        Returns:
            How often each token was generated, (padded_vocab_size,) of `like`'s dtype, and whether
            it occurs in prompt or output, bool. Owned by the state.
        """
        if self._output_counts is None or self._is_seen is None:
            output_ids = torch.tensor(self._output_token_ids, dtype=torch.int64, device=like.device)
            prompt_ids = torch.tensor(self._prompt_token_ids, dtype=torch.int64, device=like.device)
            counts = torch.zeros_like(like)
            counts.index_add_(0, output_ids, like.new_ones(len(output_ids)))
            is_seen = counts > 0
            is_seen[prompt_ids] = True
            self._output_counts, self._is_seen = counts, is_seen
        return self._output_counts, self._is_seen

    def bias(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """`logit_bias` as token ids, int64, and values, float32, both on `device`."""
        if self._bias is None:
            bias = self.params.logit_bias
            self._bias = (
                torch.tensor(list(bias.keys()), dtype=torch.int64, device=device),
                torch.tensor(list(bias.values()), dtype=torch.float32, device=device),
            )
        return self._bias
