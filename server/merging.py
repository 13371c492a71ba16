"""merged: several streams as one, in the order in which their items come."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class _Came(Generic[ItemT]):
    source: int
    item: ItemT


@dataclass(frozen=True, slots=True)
class _Ended:
    error: Exception | None


async def merged(
    sources: Sequence[AsyncGenerator[ItemT, None]],
) -> AsyncGenerator[tuple[int, ItemT], None]:
    """Pairs of the index of a source and its next item, until all have ended.

    Closing it closes all sources; the failure of one ends all, and is raised.
    """
    if len(sources) == 1:
        async with aclosing(sources[0]) as items:
            async for item in items:
                yield 0, item
        return
    queue: asyncio.Queue[_Came[ItemT] | _Ended] = asyncio.Queue()
    tasks = [
        asyncio.create_task(_pump(index, source, queue)) for index, source in enumerate(sources)
    ]
    num_running = len(tasks)
    try:
        while num_running:
            match await queue.get():
                case _Came(source, item):
                    yield source, item
                case _Ended(None):
                    num_running -= 1
                case _Ended(error):
                    assert error is not None
                    raise error
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)  # each closes its source, which may take a step


async def _pump(
    index: int,
    source: AsyncGenerator[ItemT, None],
    queue: asyncio.Queue[_Came[ItemT] | _Ended],
) -> None:
    try:
        async with aclosing(source) as items:
            async for item in items:
                queue.put_nowait(_Came(index, item))
    except Exception as error:  # noqa: BLE001  # raised again by the one who reads the queue
        queue.put_nowait(_Ended(error))
    else:
        queue.put_nowait(_Ended(None))
