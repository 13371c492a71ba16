"""Outcome: what one engine did with one schema and its documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one document.

    Args:
        is_valid: whether the schema allows it.
        num_tokens: of the document.
        refused_at: index of the first token that was refused; None: all were accepted.
        can_end: whether the text might have ended after all tokens; False where one was refused.
        error: what the engine raised on the way; else None.
    """

    is_valid: bool
    num_tokens: int
    refused_at: int | None = None
    can_end: bool = False
    error: str | None = None

    def is_accepted(self, *, with_end: bool) -> bool:
        """Whether all tokens were accepted, and with `with_end` an end as well."""
        return self.refused_at is None and self.error is None and (self.can_end or not with_end)

    def is_right(self, *, with_end: bool) -> bool:
        """Whether it was judged right: accepted if valid, else refused; an error never is."""
        return self.error is None and self.is_accepted(with_end=with_end) == self.is_valid


@dataclass(frozen=True, slots=True)
class Measured:
    """The schema was compiled.

    Args:
        compile_ns: from parsed schema to grammar.
        first_mask_ns: making the first matcher and its first mask.
        step_ns: int64, one for each token up to the first that was refused: mask and commit.
        written: the documents in order.
    """

    compile_ns: int
    first_mask_ns: int
    step_ns: NDArray[np.int64]
    written: tuple[Written, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The engine did not compile the schema; `reason` is its own message, in one line."""

    reason: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The measurement broke off.

    Args:
        is_timeout: the time limit passed; else the process died.
        reason: in one line.
    """

    is_timeout: bool
    reason: str


Outcome: TypeAlias = Measured | Refused | Broken
