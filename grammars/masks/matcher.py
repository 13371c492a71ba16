"""Matcher: the state of one text inside an `AutomatonGrammar`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grammars.masks.compiled import AutomatonGrammar
    from grammars.masks.configuration import Configuration
    from grammars.masks.rows import MaskRow
    from grammars.protocol import Bitmask


class Matcher:
    """Implements `GrammarMatcher`; a snapshot per token makes rollback free.

    Args:
        grammar: whose text this is.
        start: the configuration at its start.
    """

    __slots__ = ("_configuration", "_grammar", "_has_ended", "_history")

    def __init__(self, grammar: AutomatonGrammar, start: Configuration) -> None:
        self._grammar = grammar
        self._configuration = start
        self._history: list[Configuration] = []
        self._has_ended = False

    def fill_bitmask(self, row: Bitmask) -> None:
        row[:] = 0 if self._has_ended else self._mask().words

    def accept_token(self, token_id: int) -> bool:
        configuration = self._configuration
        if self._has_ended:
            return False
        following = configuration.following.get(token_id)
        if following is None:
            if token_id in self._grammar.vocabulary.end_token_ids:
                return self._accept_end()
            following = self._grammar.advance(configuration, token_id)
            if following is None:
                return False
        self._history.append(configuration)
        self._configuration = following
        return True

    def rollback(self, num_tokens: int) -> None:
        if num_tokens < 0 or num_tokens > len(self._history):
            raise ValueError(f"cannot undo {num_tokens} of {len(self._history)} accepted tokens")
        if num_tokens > 0:
            self._configuration = self._history[-num_tokens]
            del self._history[-num_tokens:]
            self._has_ended = False

    def forced_tokens(self) -> list[int]:
        if self._has_ended:
            return []
        forced = self._configuration.forced
        return list(self._grammar.forced_tokens(self._configuration) if forced is None else forced)

    def min_tokens_to_complete(self) -> int:
        return self._grammar.num_tokens_to_complete(self._configuration)

    def fill_closing_bitmask(self, row: Bitmask, tokens_left: int) -> None:
        if self._has_ended:
            row[:] = 0
        else:
            row[:] = self._grammar.closing_words(self._configuration, tokens_left)

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
        return self._grammar.mask(self._configuration) if mask is None else mask

    def _accept_end(self) -> bool:
        if not self.is_complete:
            return False
        self._history.append(self._configuration)
        self._has_ended = True
        return True
