"""Matcher: the state of one text inside an `AutomatonGrammar`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import numpy as np

from grammars.errors import LimitExceededError, TextLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.masks.compiled import AutomatonGrammar
    from grammars.masks.configuration import Configuration
    from grammars.masks.rows import MaskRow
    from grammars.protocol import Bitmask


Answer = TypeVar("Answer")

_TABLE_LIMITS: Final = ("max_table_bytes", "max_structural_states")


class Renewal(Protocol):
    """Where a matcher finds other tables of its grammar when its own are full."""

    def others(self, full: AutomatonGrammar) -> Iterator[AutomatonGrammar]:
        """Automata of the same grammar with more room, the last one fresh."""
        ...


class Matcher:
    """Implements `GrammarMatcher`; a snapshot per token makes rollback free.

    Args:
        grammar: whose text this is.
        renewal: where its text goes on when the tables are full; None lets it fail then.
    """

    __slots__ = ("_configuration", "_grammar", "_has_ended", "_history", "_renewal", "_token_ids")

    def __init__(self, grammar: AutomatonGrammar, renewal: Renewal | None = None) -> None:
        self._grammar = grammar
        self._renewal = renewal
        self._configuration = grammar.start
        self._history: list[Configuration] = []
        self._token_ids: list[int] = []  # those that lead from one of the history to the next
        self._has_ended = False

    def fill_bitmask(self, row: Bitmask) -> None:
        row[:] = 0 if self._has_ended else self._mask().words

    def shared_bitmask(self) -> Bitmask | None:
        return None if self._has_ended else self._mask().words

    def accept_token(self, token_id: int) -> bool:
        if self._has_ended:
            return False
        following = self._configuration.following.get(token_id)
        if following is None:
            if token_id in self._grammar.vocabulary.end_token_ids:
                return self._accept_end()
            following = self._ask(lambda grammar, here: grammar.advance(here, token_id))
            if following is None:
                return False
        self._history.append(self._configuration)
        self._token_ids.append(token_id)
        self._configuration = following
        return True

    def rollback(self, num_tokens: int) -> None:
        if num_tokens < 0 or num_tokens > len(self._history):
            raise ValueError(f"cannot undo {num_tokens} of {len(self._history)} accepted tokens")
        if num_tokens > 0:
            self._configuration = self._history[-num_tokens]
            del self._history[-num_tokens:]
            del self._token_ids[len(self._history) :]
            self._has_ended = False

    def forced_tokens(self) -> list[int]:
        if self._has_ended:
            return []
        forced = self._configuration.forced
        if forced is None:
            forced = self._ask(lambda grammar, here: grammar.forced_tokens(here))
        return list(forced)

    def min_tokens_to_complete(self, max_states: int | None = None) -> int:
        return self._ask(lambda grammar, here: grammar.num_tokens_to_complete(here, max_states))

    def fill_closing_bitmask(self, row: Bitmask, tokens_left: int) -> None:
        if self._has_ended:
            row[:] = 0
        else:
            row[:] = self._ask(lambda grammar, here: grammar.closing_words(here, tokens_left))

    @property
    def is_complete(self) -> bool:
        return self._configuration.is_complete

    @property
    def is_terminated(self) -> bool:
        return self._has_ended or (self.is_complete and not self._mask().has_text)

    def allowed_token_ids(self) -> list[int]:
        """The tokens allowed next, ascending."""
        row = np.zeros(self._grammar.vocabulary.num_words, np.int32)
        self.fill_bitmask(row)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        allowed: list[int] = np.flatnonzero(bits).tolist()
        return allowed

    def row_id(self) -> int | None:
        """The id of the row that `fill_bitmask` writes, see `MaskRow`; None after an end token."""
        return None if self._has_ended else self._mask().row_id

    def _mask(self) -> MaskRow:
        mask = self._configuration.mask
        return self._ask(lambda grammar, here: grammar.mask(here)) if mask is None else mask

    def _ask(self, question: Callable[[AutomatonGrammar, Configuration], Answer]) -> Answer:
        """Ask the grammar about the place of the text; in other tables if these are full."""
        try:
            return question(self._grammar, self._configuration)
        except LimitExceededError as full:
            if self._renewal is None or full.limit not in _TABLE_LIMITS:
                raise
            limit = full
        for grammar in self._renewal.others(self._grammar):
            try:
                history = self._replay(grammar)
                answer = question(grammar, history[-1])
            except LimitExceededError as full:
                if full.limit not in _TABLE_LIMITS:
                    raise
                limit = full
            else:
                self._grammar, self._configuration = grammar, history.pop()
                self._history = history
                return answer
        raise TextLimitError(limit.limit, limit.allowed, "this text alone") from limit

    def _replay(self, grammar: AutomatonGrammar) -> list[Configuration]:
        """The configurations of the text in other tables, from the start to where it is."""
        history = [grammar.start]
        for token_id in self._token_ids:
            following = grammar.advance(history[-1], token_id)
            assert following is not None, "the same grammar accepts the same text"
            history.append(following)
        return history

    def _accept_end(self) -> bool:
        if not self.is_complete:
            return False
        self._history.append(self._configuration)
        self._token_ids.append(self._grammar.vocabulary.end_token_ids[0])
        self._has_ended = True
        return True
