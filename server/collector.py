"""Collections of a serving process: everything is looked at only while nobody waits.

What a request leaves behind goes by reference counts; the collector is for the rest, such as errors
with their tracebacks. Of young objects a collection takes a millisecond. One of all objects takes
60 to 280 ms, in which no thread runs any Python, and by itself it comes whenever a quarter of the
old objects is new: in the middle of a step.
"""

from __future__ import annotations

import asyncio
import gc
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

_NEVER: Final = 2**31 - 1
"""Collections of the middle generation until one of all objects: more than there will be."""

DUE_WHEN_IDLE: Final = 4
"""As many of them since the last one of all objects are worth another while nobody waits; about
31,000 containers were made, and not freed, in the meantime."""

DUE_AT_LAST: Final = 128
"""After as many (a million containers) even those who wait must: memory stays bounded."""


@asynccontextmanager
async def collected_when_idle(
    is_idle: Callable[[], bool], *, period_s: float = 1.0
) -> AsyncIterator[None]:
    """Serve inside; what was loaded before is left out of all collections.

    Args:
        is_idle: whether nobody waits for this process now.
        period_s: seconds between two looks.
    """
    before = gc.get_threshold()
    is_first = before[2] != _NEVER  # of several servers in one process, the one that puts it back
    if is_first:
        hold_full_collections()
    looking = asyncio.create_task(_look(is_idle, period_s))
    try:
        yield
    finally:
        looking.cancel()
        if is_first:
            gc.set_threshold(*before)
            gc.unfreeze()


def hold_full_collections() -> None:
    """Leave out what was loaded, and have no collection of all objects come by itself."""
    gc.freeze()
    youngest, middle, _ = gc.get_threshold()
    gc.set_threshold(youngest, middle, _NEVER)


async def _look(is_idle: Callable[[], bool], period_s: float) -> None:
    while True:
        await asyncio.sleep(period_s)
        collect_if_due(is_idle=is_idle())


def collect_if_due(*, is_idle: bool) -> bool:
    """Collect everything if it is worth it, or overdue; whether that was done."""
    is_due = gc.get_count()[2] >= (DUE_WHEN_IDLE if is_idle else DUE_AT_LAST)
    if is_due:
        gc.collect()
    return is_due
