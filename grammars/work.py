"""Work: what one step of a text makes of its grammar is counted, and ends by name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from types import TracebackType

STEP_WORK: Final = "max_step_work"
"""The name of the limit in errors."""

_UNBOUNDED: Final = sys.maxsize


class Work:
    """The work of one grammar; entered for each step of a text, which is then bounded.

    Counted are parts that take about half a microsecond each, wherever their number depends on the
    grammar. Outside of steps (compiles, searches with budgets of their own) nothing is bounded.
    Not thread-safe: a step holds the lock of the tables.

    Args:
        most: parts of one step, `CompileLimits.max_step_work`.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = _UNBOUNDED
        self._depth = 0

    def __enter__(self) -> None:
        if self._depth == 0:
            self._left = self._most
        self._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._left = _UNBOUNDED

    @property
    def left(self) -> int:
        """Parts that are left."""
        return self._left

    def spend(self, num_parts: int) -> None:
        """Count some work, before or after it is done.

        Raises:
            LimitExceededError: the step has come to more than is granted.
        """
        self._left -= num_parts
        if self._left < 0:
            raise self.used_up()

    def used_up(self) -> LimitExceededError:
        """The error of a step that has come to more than is granted."""
        what = "what tokens at one place of a text may do"
        return LimitExceededError(STEP_WORK, self._most, what)
