"""Drafts: guesses of the next tokens, read off earlier text (prompt lookup decoding).

Where the last few tokens occurred before, what followed them then is tried again; one forward pass
checks all of it. After A. Saxena, Prompt Lookup Decoding (2023), and Yang et al., Inference with
Reference (arXiv:2304.04487). A wrong draft costs computation and never changes the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence as TokenIds

    from engine.constraint import Constraint
    from engine.sequence import Sequence

_NGRAM_SIZES: Final = (4, 3, 2)
"""Tried in this order: the longer what came before agrees, the likelier what follows does."""


class PromptLookup:
    """Where each n-gram of a sequence has ended last; grows with the sequence."""

    def __init__(self) -> None:
        self._ends: dict[tuple[int, ...], int] = {}
        self._num_indexed = 0

    def propose(self, token_ids: list[int], max_tokens: int) -> list[int]:
        """Guess what follows `token_ids`.

        Args:
            token_ids: prompt and output so far; grows from call to call.
            max_tokens: of the guess.
        """
        self._index(token_ids)
        for size in _NGRAM_SIZES:
            end = self._ends.get(tuple(token_ids[-size:]))
            if end is not None:
                # Near its own end the text is taken to repeat with the period that was found.
                source = token_ids[end:]
                return [source[index % len(source)] for index in range(max_tokens)]
        return []

    def _index(self, token_ids: list[int]) -> None:
        """Enter the n-grams that have something behind them."""
        for end in range(self._num_indexed + 1, len(token_ids)):
            for size in _NGRAM_SIZES:
                if size <= end:
                    self._ends[tuple(token_ids[end - size : end])] = end
        self._num_indexed = max(self._num_indexed, len(token_ids) - 1)


def make_drafts(sequence: Sequence, max_draft_tokens: int) -> list[int]:
    """Drafts for the next step, as many as the constraint and the token limit allow.

    Raises:
        Exception: whatever the constraint raises.
    """
    # The step that checks the drafts adds one token of its own.
    max_tokens = min(max_draft_tokens, sequence.num_tokens_left - 1)
    if sequence.lookup is None:
        return []
    drafts = sequence.lookup.propose(sequence.token_ids, max_tokens)
    constraint = sequence.request.constraint
    return drafts if constraint is None else drafts[: num_legal_tokens(constraint, drafts)]


def num_legal_tokens(constraint: Constraint, token_ids: TokenIds[int]) -> int:
    """How many of the tokens the constraint takes before it refuses one or the text has ended."""
    num_accepted = 0
    for token_id in token_ids:
        if constraint.is_terminated or not constraint.accept_token(token_id):
            break
        num_accepted += 1
    is_over = constraint.is_terminated
    constraint.rollback(num_accepted)
    return num_accepted - 1 if is_over and num_accepted else num_accepted
