"""ConstraintLogitsProcessor: a compiled grammar in plain `model.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from transformers import LogitsProcessor

if TYPE_CHECKING:
    from grammars.protocol import CompiledGrammar, GrammarMatcher


class ConstraintLogitsProcessor(LogitsProcessor):
    """Keeps every row of a batch inside a grammar. One processor serves one `generate` call.

    The prompt is free, so rows may have prompts of any length (left-padded, as `generate` wants
    them). A row that has ended with an end token is left alone; `generate` pads it. Beam search
    moves rows: a moved row's matcher is rebuilt from its tokens. Keep it the last processor:
    whatever runs after it could bring back a token that it took out.

    Args:
        compiled: the grammar. Its vocabulary's `padded_size` is the width of the model's logits,
            and its end ids are the `eos_token_id`s of the generation config.
    """

    def __init__(self, compiled: CompiledGrammar) -> None:
        self._compiled = compiled
        self._matchers: list[GrammarMatcher] = []
        self._prompt_length = 0
        self._generated: list[list[int]] = []  # the tokens that each row's matcher has read

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Set the scores of disallowed tokens to -inf.

        Args:
            input_ids: int64, (batch, length): prompts and what was generated so far.
            scores: float, (batch, vocab_size).

        Returns:
            A new tensor of the same shape.

        Raises:
            ValueError: it is called in a second `generate`, or not once for every token (assisted
                generation); a row holds a token that the grammar refused; or all rows have ended
                and `generate` goes on.
        """
        self._read(input_ids)
        bitmask = np.zeros((scores.shape[0], (scores.shape[1] + 31) // 32), np.int32)
        for row, matcher in zip(bitmask, self._matchers, strict=True):
            matcher.fill_bitmask(row)
        has_ended = ~bitmask.any(axis=1)  # a mask is empty only after an end token
        if has_ended.all():
            raise ValueError(
                "every row has ended, but generate goes on: its eos_token_id must hold the "
                "vocabulary's end_token_ids"
            )
        bitmask[has_ended] = -1  # generate itself pads these rows
        allowed = _unpack(torch.from_numpy(bitmask).to(scores.device), scores.shape[1])
        return cast("torch.FloatTensor", scores.masked_fill(~allowed, -torch.inf))

    def _read(self, input_ids: torch.LongTensor) -> None:
        """Bring every row's matcher up to its row."""
        num_rows, length = input_ids.shape
        if not self._matchers:
            self._prompt_length = length
            self._matchers = [self._compiled.matcher() for _ in range(num_rows)]
            self._generated = [[] for _ in range(num_rows)]
        elif num_rows != len(self._matchers) or length != self._next_length:
            raise ValueError(
                f"expected {len(self._matchers)} rows of {self._next_length} tokens, got "
                f"{num_rows} of {length}: make a new ConstraintLogitsProcessor for every generate "
                "call; assisted generation is not supported"
            )
        for index, generated in enumerate(input_ids[:, self._prompt_length :].tolist()):
            num_read = len(self._generated[index])
            if generated[:num_read] != self._generated[index]:  # beam search put another row here
                self._matchers[index] = self._compiled.matcher()
                num_read = 0
            self._advance(index, generated[num_read:])
            self._generated[index] = generated

    @property
    def _next_length(self) -> int:
        return self._prompt_length + len(self._generated[0]) + 1

    def _advance(self, index: int, token_ids: list[int]) -> None:
        matcher = self._matchers[index]
        for token_id in token_ids:
            if not matcher.accept_token(token_id) and not matcher.is_terminated:
                raise ValueError(
                    f"row {index} holds token {token_id}, which the grammar does not allow there: "
                    "make ConstraintLogitsProcessor the last processor"
                )


def _unpack(bitmask: torch.Tensor, vocab_size: int) -> torch.Tensor:
    """The bits of int32 rows, (batch, words) -> bool, (batch, vocab_size)."""
    bits = torch.arange(32, device=bitmask.device, dtype=torch.int32)
    return ((bitmask.unsqueeze(-1) >> bits) & 1).bool().flatten(1)[:, :vocab_size]
