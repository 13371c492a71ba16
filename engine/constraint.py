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

    def min_tokens_to_complete(self) -> int:
        """How many more tokens surely suffice for a whole text, 0 where it is one; no end token.

        Raises:
            Exception: it cannot tell.
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
