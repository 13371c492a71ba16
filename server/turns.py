"""Turns: so many tasks at a time, and callers take turns."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from engine.fair_queue import FairQueue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Turns:
    """A semaphore whose queue is fair between callers; used on one event loop.

    Args:
        num_places: tasks that may be inside at the same time.
    """

    def __init__(self, num_places: int) -> None:
        self._num_free = num_places
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()

    @asynccontextmanager
    async def turn(self, caller: bytes) -> AsyncIterator[None]:
        """Wait for a place, and have it until the block ends.

        Args:
            caller: whose task it is.
        """
        if self._num_free > 0:
            self._num_free -= 1
        else:
            await self._wait(caller)
        try:
            yield
        finally:
            self._give_place()

    async def _wait(self, caller: bytes) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(mine, caller)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.cancelled():
                with suppress(ValueError):  # it was passed over already
                    self._waiting.remove(mine, caller)
            else:  # cancelled in the moment between getting the place and going on
                self._give_place()
            raise

    def _give_place(self) -> None:
        """Hand a place to whose turn it is, or keep it.

        A task that is cancelled hears of it later than its future: until then it is in the queue.
        """
        while self._waiting:
            waiting = self._waiting.take()
            if not waiting.cancelled():
                waiting.set_result(None)
                return
        self._num_free += 1
