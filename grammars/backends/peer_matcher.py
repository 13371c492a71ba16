"""PeerMatcher: a peer library's matcher made to keep our rules on end tokens and completeness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from grammars.errors import BackendError

if TYPE_CHECKING:
    from grammars.protocol import Bitmask
    from grammars.vocabulary import Vocabulary


_CANNOT_CLOSE: Final = (
    "only the tightrope backend knows how many tokens a text still needs; use it, or let texts be "
    "cut at their limit"
)


class PeerState(Protocol):
    """What an adapter makes of its library: the state of one sequence, text tokens only."""

    def fill(self, row: Bitmask) -> None:
        """Overwrite `row`: the text tokens allowed next; all end ids where the text is complete."""
        ...

    def advance(self, token_id: int) -> bool:
        """Read one token that is no end token; False and no change where it is not allowed."""
        ...

    def rollback(self, num_tokens: int) -> None:
        """Undo the last `num_tokens` advances."""
        ...

    def forced_bytes(self) -> bytes:
        """The bytes that must follow; asked only while the text is not complete."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the text so far is a whole text."""
        ...

    @property
    def can_extend(self) -> bool:
        """Whether some text token may follow; asked only where the text is complete."""
        ...


class PeerMatcher:
    """A `GrammarMatcher` over a `PeerState`; end tokens are kept here, away from the library."""

    def __init__(self, state: PeerState, vocabulary: Vocabulary) -> None:
        self._state = state
        self._vocabulary = vocabulary
        self._num_accepted = 0
        self._ended = False

    def fill_bitmask(self, row: Bitmask) -> None:
        if self._ended:
            row.fill(0)
        else:
            self._state.fill(row)

    def shared_bitmask(self) -> None:
        return None

    def accept_token(self, token_id: int) -> bool:
        if self._ended:
            return False
        if token_id in self._vocabulary.end_token_ids:
            accepted = self._ended = self._state.is_complete
        else:
            accepted = self._state.advance(token_id)
        self._num_accepted += accepted
        return accepted

    def rollback(self, num_tokens: int) -> None:
        if not 0 <= num_tokens <= self._num_accepted:
            raise ValueError(f"cannot undo {num_tokens} of {self._num_accepted} accepted tokens")
        self._num_accepted -= num_tokens
        if num_tokens and self._ended:
            self._ended = False
            num_tokens -= 1
        if num_tokens:
            self._state.rollback(num_tokens)

    def forced_tokens(self) -> list[int]:
        if self._ended or self._state.is_complete:
            return []
        return self._vocabulary.encode(self._state.forced_bytes())

    def min_tokens_to_complete(self, max_states: int | None = None) -> int:  # noqa: ARG002 - refused
        raise BackendError(_CANNOT_CLOSE)

    def fill_closing_bitmask(self, row: Bitmask, tokens_left: int) -> None:  # noqa: ARG002 - refused
        raise BackendError(_CANNOT_CLOSE)

    @property
    def is_complete(self) -> bool:
        return self._state.is_complete

    @property
    def is_terminated(self) -> bool:
        return self._ended or (self._state.is_complete and not self._state.can_extend)
