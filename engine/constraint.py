"""Constraint: what the engine needs of a grammar matcher, declared by its consumer.

`grammars.protocol.GrammarMatcher` has this shape; the two rooms never import each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Constraint(Protocol):
    """The state of one sequence inside a constraint; advanced with each sampled token."""

    def fill_bitmask(self, row: NDArray[np.int32]) -> None:
        """Overwrite `row` (int32, (ceil(padded_vocab_size / 32),)) with the tokens allowed next.

        Bit i of word j is token 32 * j + i, 1 where it is allowed.
        """
        ...

    def shared_bitmask(self) -> NDArray[np.int32] | None:
        """What `fill_bitmask` writes as an array that is never written again; None: ask that.

        So whoever has seen the array knows the mask by the array's identity. It allows some token.
        """
        ...

    def min_tokens_to_complete(self, max_states: int | None = None) -> int:
        """How many more tokens surely suffice for a whole text, 0 where it is one; no end token.

        Args:
            max_states: places of the grammar that may be looked at for it, other than those whose
                number is known; None: as many as it takes.

        Raises:
            Exception: the number cannot be found, or not by looking at so few.
        """
        ...

    def fill_closing_bitmask(self, row: NDArray[np.int32], tokens_left: int) -> None:
        """Overwrite `row` with the tokens after which a text of `tokens_left` more can be whole.

        So a text under these masks is whole when nothing is left. End tokens need no room. Where
        `min_tokens_to_complete` is more than `tokens_left` already, the text is whole as soon as it
        can be.
        """
        ...

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; False (and no change) if it is not allowed here."""
        ...

    def rollback(self, num_tokens: int) -> None:
        """Undo the last `num_tokens` accepted tokens."""
        ...

    def forced_tokens(self) -> list[int]:
        """The token ids that must follow, [] where there is a choice; does not advance."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the text so far is whole (it may still be extendable)."""
        ...

    @property
    def is_terminated(self) -> bool:
        """Whether nothing can follow: the request must finish now with reason `stop`."""
        ...


class TokenAutomaton(Protocol):
    """A finite constraint as tables that a device can follow.

    `grammars.device_tables.DeviceTables` has this shape.

    A state allows the tokens of its row. A token leads to the state beside it among the state's
    exceptions, else to the state's default.

    Attributes:
        rows: uint32, (num_rows, width), distinct bitmask rows.
        row_of_state: int32, (num_states,); a text begins in state 0.
        default_next: int32, (num_states,).
        exception_begin: int32, (num_states + 1,); state s has the exceptions from
            exception_begin[s] to exception_begin[s + 1].
        exception_tokens: int32, ascending within a state.
        exception_next: int32, the state after each.
    """

    @property
    def rows(self) -> NDArray[np.uint32]: ...
    @property
    def row_of_state(self) -> NDArray[np.int32]: ...
    @property
    def default_next(self) -> NDArray[np.int32]: ...
    @property
    def exception_begin(self) -> NDArray[np.int32]: ...
    @property
    def exception_tokens(self) -> NDArray[np.int32]: ...
    @property
    def exception_next(self) -> NDArray[np.int32]: ...

    def next_state(self, state: int, token_id: int) -> int:
        """The state after an allowed token."""
        ...
