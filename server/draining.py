"""DrainingServer: uvicorn's server, which ends only once running requests have ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import FrameType

    from server.lifecycle import Lifecycle


class DrainingServer(uvicorn.Server):
    """Tells when it listens; on the first signal it drains, on a second one it ends at once.

    While it drains it goes on listening, so that balancers and clients are told: uvicorn itself
    would close its listener first. It then exits with 0.

    Args:
        config: uvicorn's.
        lifecycle: of the application.
        drain_timeout_s: how long requests under way may take after a signal.
        announce: called once it listens.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        lifecycle: Lifecycle,
        *,
        drain_timeout_s: float,
        announce: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._lifecycle = lifecycle
        self._drain_timeout_s = drain_timeout_s
        self._announce = announce
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None
        self.has_given_up = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  # uvicorn's
        """Of both stop signals; runs between two instructions of the event loop's thread."""
        self.force_exit = self._lifecycle.is_draining
        if self.force_exit or self._loop is None or not self.started:
            self.should_exit = True
            return
        self._lifecycle.drain()
        self._loop.call_soon_threadsafe(self._start_draining)

    def give_up(self) -> None:
        """End without waiting: there is no engine any more."""
        self.has_given_up = True
        self.force_exit = True
        self.should_exit = True

    def _start_draining(self) -> None:
        self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(self._drain_timeout_s):
                await self._lifecycle.idle()
        except TimeoutError:
            self.force_exit = True
        self.should_exit = True
