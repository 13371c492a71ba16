"""loop_work: how much an event loop does in one go, in calls of functions: the same anywhere."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class LoopWork:
    """What the event loops of this process did while it was counted.

    Args:
        most_calls: calls of functions, of Python and of C, in one callback.
    """

    most_calls: int = 0


@contextmanager
def counted_loop_work() -> Iterator[LoopWork]:
    """Count the calls in each callback of every event loop that runs Python's own handles."""
    work = LoopWork()
    run = asyncio.Handle._run

    def counting(handle: asyncio.Handle) -> None:
        num_calls = 0

        def count(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal num_calls
            num_calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            run(handle)
        finally:
            sys.setprofile(None)
            work.most_calls = max(work.most_calls, num_calls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", counting)
        yield work
