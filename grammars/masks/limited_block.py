"""LimitedGrammar: texts whose block at the beginning (thoughts) may have so many tokens at most.

An automaton reads bytes and cannot count tokens, so a second one reads the block along with the
text: `begin`, free text, `end`, anything. It is complete as soon as the block is over, so "over in
n tokens" is what its closing masks enforce (decision 13). These narrow the masks of the text near
the limit only; elsewhere they would allow everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.masks.ahead import always

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.masks.matcher import Matcher
    from grammars.masks.renewal import RenewedGrammar
    from grammars.protocol import Bitmask
    from grammars.spec import LimitedBlock
    from grammars.vocabulary import Vocabulary

_BITS_PER_WORD: Final = 32

_MAX_REST_BYTES: Final = 3
"""Of a character whose first byte is written."""


class LimitedGrammar:
    """Implements `ExpandableGrammar`; thread-safe.

    Args:
        spec: of the limit.
        text: the grammar of all texts.
        block: of `begin`, free text, `end` and anything.
    """

    def __init__(self, spec: LimitedBlock, text: RenewedGrammar, block: RenewedGrammar) -> None:
        self.spec = spec
        self._text = text
        self._block = block

    def matcher(self) -> LimitedMatcher:
        """A new matcher at the start of the text."""
        return LimitedMatcher(self, self._text.matcher(), self._block.matcher())

    @property
    def memory_bytes(self) -> int:
        """Bytes of both grammars."""
        return self._text.memory_bytes + self._block.memory_bytes

    def warm(self, num_actions: int, goes_on: Callable[[], bool] = always) -> int:
        """See `ExpandableGrammar`; the block has few states."""
        return self._text.warm(num_actions, goes_on)

    @property
    def num_words(self) -> int:
        """Of a mask."""
        return self._text.vocabulary.num_words

    @cached_property
    def near_tokens(self) -> int:
        """With so many tokens left, whatever token is written, the block can be ended in time.

        For the rest of a character and `end` need a token for each byte at most.
        """
        return 1 + _MAX_REST_BYTES + len(self.spec.end.encode())

    def spelled(self, token_id: int) -> bytes:
        """The text of a token, of a control token too."""
        vocabulary = self._text.vocabulary
        controls = vocabulary.derive(_control_texts)
        return vocabulary.token_bytes.get(token_id) or controls.get(token_id, b"")


def _control_texts(vocabulary: Vocabulary) -> dict[int, bytes]:
    return {control.token_id: control.text.encode() for control in vocabulary.controls}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a text stands to its block.

    Args:
        num_missing_bytes: of `begin`; 0 inside the block.
        tokens_left: how many more the block may have, `end` included; None before it and behind it.
        num_followed: how many tokens the block's matcher has read.
        is_over: whether the block has ended, or has turned out to be none.
    """

    num_missing_bytes: int
    tokens_left: int | None = None
    num_followed: int = 0
    is_over: bool = False


class LimitedMatcher:
    """Implements `GrammarMatcher`.

    Args:
        grammar: whose text this is.
        text: of all texts, at the start.
        block: of the block, at the start.
    """

    def __init__(self, grammar: LimitedGrammar, text: Matcher, block: Matcher) -> None:
        self._grammar = grammar
        self._text = text
        self._block = block
        start = _Place(len(grammar.spec.begin.encode()))
        self._places = [self._entered(start)]  # one more than tokens were accepted

    def fill_bitmask(self, row: Bitmask) -> None:
        self._text.fill_bitmask(row)
        if self._is_near:
            row &= self._in_time(row)

    def shared_bitmask(self) -> Bitmask | None:
        return None if self._is_near else self._text.shared_bitmask()

    def fill_closing_bitmask(self, row: Bitmask, tokens_left: int) -> None:
        # Where `end` is spelled by several tokens, a text may be able to close in time only if its
        # block ends too late. Then the block's limit goes first.
        self._text.fill_closing_bitmask(row, tokens_left)
        if self._is_near:
            row &= self._in_time(row)
            if not row.any():
                self.fill_bitmask(row)

    def accept_token(self, token_id: int) -> bool:
        if self._is_near and not self._is_in_time(token_id):
            return False
        if not self._text.accept_token(token_id):
            return False
        self._places.append(self._place_after(token_id))
        return True

    def rollback(self, num_tokens: int) -> None:
        self._text.rollback(num_tokens)
        if num_tokens:
            num_followed = self._place.num_followed
            del self._places[-num_tokens:]
            self._block.rollback(num_followed - self._place.num_followed)

    def forced_tokens(self) -> list[int]:
        return [] if self._is_near else self._text.forced_tokens()

    def min_tokens_to_complete(self, max_states: int | None = None) -> int:
        return self._text.min_tokens_to_complete(max_states)

    @property
    def is_complete(self) -> bool:
        return self._text.is_complete

    @property
    def is_terminated(self) -> bool:
        return self._text.is_terminated

    @property
    def _place(self) -> _Place:
        return self._places[-1]

    @property
    def _is_near(self) -> bool:
        """Whether the limit may keep a token out."""
        left = self._place.tokens_left
        return left is not None and left < self._grammar.near_tokens

    def _in_time(self, row: Bitmask) -> Bitmask:
        """A row like the given one, of the tokens after which the block can still end in time."""
        assert self._place.tokens_left is not None, "only near the limit"
        in_time = np.empty_like(row)
        self._block.fill_closing_bitmask(in_time, self._place.tokens_left)
        return in_time

    def _is_in_time(self, token_id: int) -> bool:
        """Whether a token is among them."""
        row = self._in_time(np.zeros(self._grammar.num_words, np.int32))
        word = token_id // _BITS_PER_WORD
        return 0 <= word < len(row) and bool(row[word] >> token_id % _BITS_PER_WORD & 1)

    def _place_after(self, token_id: int) -> _Place:
        place = self._place
        if place.is_over:
            return place
        spelled = self._grammar.spelled(token_id)
        if not self._block.accept_token(token_id):
            is_blank = place.num_followed == 0 and spelled.isspace()
            return place if is_blank else replace(place, tokens_left=None, is_over=True)
        place = replace(place, num_followed=place.num_followed + 1)
        if self._block.is_complete:
            return replace(place, tokens_left=None, is_over=True)
        if place.tokens_left is not None:
            return replace(place, tokens_left=place.tokens_left - 1)
        missing = max(0, place.num_missing_bytes - len(spelled))
        return self._entered(replace(place, num_missing_bytes=missing))

    def _entered(self, place: _Place) -> _Place:
        """The same inside the block, if nothing of `begin` is missing."""
        if place.num_missing_bytes:
            return place
        num_tokens = self._grammar.spec.max_tokens + self._block.min_tokens_to_complete()
        return replace(place, tokens_left=num_tokens)
