"""Result: an outcome in its place, and the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, assert_never

from benchmarks.grammar_outcome import Broken, Measured, Refused

if TYPE_CHECKING:
    from benchmarks.grammar_outcome import Outcome


class Verdict(Enum):
    """The outcome of a schema, the gravest of several; the value is shown to readers."""

    PASSING = "passing"
    COMPILE_ERROR = "compile error"
    VALID_REFUSED = "valid refused"
    INVALID_ACCEPTED = "invalid accepted"
    RAISED = "raised in a mask"
    TIMEOUT = "timeout"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Result:
    """One cell: an engine on a schema.

    Args:
        name: of the schema.
        subset: of the schema.
        num_documents: of the schema.
        engine: its name.
        outcome: what it did.
    """

    name: str
    subset: str
    num_documents: int
    engine: str
    outcome: Outcome

    def passes(self, *, with_end: bool) -> bool:
        """Whether it compiled and every document was judged right."""
        return isinstance(self.outcome, Measured) and all(
            written.is_right(with_end=with_end) for written in self.outcome.written
        )

    @property
    def verdict(self) -> Verdict:
        """By MaskBench's rule."""
        match self.outcome:
            case Refused():
                return Verdict.COMPILE_ERROR
            case Broken(is_timeout):
                return Verdict.TIMEOUT if is_timeout else Verdict.CRASH
            case Measured(written=documents):
                wrong = [one for one in documents if not one.is_right(with_end=False)]
                if not wrong:
                    return Verdict.PASSING
                if any(one.error is None and not one.is_valid for one in wrong):
                    return Verdict.INVALID_ACCEPTED
                if any(one.error is None for one in wrong):
                    return Verdict.VALID_REFUSED
                return Verdict.RAISED
            case _:
                assert_never(self.outcome)
