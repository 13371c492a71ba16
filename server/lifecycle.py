"""Lifecycle: whether the server still takes requests, and how many it is answering."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Lifecycle:
    """Serves until `drain` is called; then no new requests are taken, and those under way go on.

    All is called on one event loop, except `drain`, which a signal handler may call.
    """

    def __init__(self) -> None:
        self.is_draining = False
        self.num_active = 0
        self._has_ended_one = asyncio.Event()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a request while it is answered."""
        self.num_active += 1
        try:
            yield
        finally:
            self.num_active -= 1
            self._has_ended_one.set()

    def drain(self) -> None:
        """Take no new requests."""
        self.is_draining = True

    async def idle(self) -> None:
        """Wait until no request is being answered."""
        while self.num_active > 0:
            self._has_ended_one.clear()
            await self._has_ended_one.wait()
