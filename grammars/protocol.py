"""The contract of every grammar backend: compiled grammars and their matchers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

Bitmask: TypeAlias = NDArray[np.int32]
"""One row, (ceil(padded_vocab_size / 32),); bit i of word j is token 32 * j + i, 1 = allowed."""


class GrammarMatcher(Protocol):
    """The state of one sequence inside a compiled grammar; not thread-safe."""

    def fill_bitmask(self, row: Bitmask) -> None:
        """Overwrite `row` with the tokens allowed next.

        Never empty before termination. End tokens are set exactly when the text is complete;
        control tokens only where the spec names them; ids without text (padding rows) never.
        """
        ...

    def shared_bitmask(self) -> Bitmask | None:
        """What `fill_bitmask` writes, as an array that is never written again; None: ask that.

        Whoever has seen the array knows the mask by the array's identity. It allows some token.
        """
        ...

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; False (and no change) if it is not allowed here."""
        ...

    def rollback(self, num_tokens: int) -> None:
        """Undo the last `num_tokens` accepted tokens."""
        ...

    def forced_tokens(self) -> list[int]:
        """Token ids of the text that must follow, [] where there is a choice; does not advance."""
        ...

    def min_tokens_to_complete(self, max_states: int | None = None) -> int:
        """How many more tokens surely suffice for a whole text, 0 where it is one.

        No end token is counted. Near to the least number, never below it.

        Args:
            max_states: places of the grammar that may be looked at for it, other than those whose
                number is known; None: as many as it takes, seconds where there are thousands.

        Raises:
            LimitExceededError: more than `max_states` are needed.
            BackendError: the backend cannot tell.
        """
        ...

    def fill_closing_bitmask(self, row: Bitmask, tokens_left: int) -> None:
        """Overwrite `row` with the tokens that a text of at most `tokens_left` more may go on with.

        Those of `fill_bitmask` after which `min_tokens_to_complete` is less than `tokens_left`, so
        that a text under these masks is whole when nothing is left. If `min_tokens_to_complete`
        is more than `tokens_left` already: those after which it is less than now, so that the text
        is whole as soon as that can be promised. End tokens need no room.

        Raises:
            BackendError: the backend cannot tell.
        """
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the text so far is a whole text of the grammar (it may still be extendable)."""
        ...

    @property
    def is_terminated(self) -> bool:
        """Whether nothing can follow: an end token was accepted, or the text cannot go on."""
        ...


class CompiledGrammar(Protocol):
    """An immutable compiled grammar, shared by any number of matchers and threads."""

    def matcher(self) -> GrammarMatcher:
        """A new matcher at the start of the text."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Bytes held by this grammar (tables and cached masks); may grow while it is used."""
        ...


@runtime_checkable
class ExpandableGrammar(CompiledGrammar, Protocol):
    """A compiled grammar that is made where texts come, and can be made ahead of them."""

    def warm(self, num_actions: int, goes_on: Callable[[], bool]) -> int:
        """Expand up to so many actions, the nearest to the start of texts first.

        Args:
            num_actions: one costs about 0.3 ms.
            goes_on: asked before each action that is looked at, while no lock is held; may wait.

        Returns:
            How many were expanded; fewer where no more are missing, `goes_on` said no, or too many
            that were looked at had been expanded before.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        ...
