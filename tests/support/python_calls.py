"""PythonCalls: how many calls Python makes, a measure of work that is the same on every machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType


class PythonCalls:
    """Counts the calls of this thread while it is entered, those of built-in functions too."""

    def __init__(self) -> None:
        self.num_calls = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._count)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        self.num_calls += event in ("call", "c_call")
