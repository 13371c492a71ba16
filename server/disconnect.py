"""Noticing that a client has gone, and stopping the work for it at once."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine

    from starlette.types import Receive, Scope, Send

Result = TypeVar("Result")


async def unless_disconnected(receive: Receive, work: Coroutine[object, object, Result]) -> Result:
    """Run `work` to its end, or cancel it when the client goes.

    Args:
        receive: of a request whose body was read whole.
        work: what is done for the client.

    Raises:
        ClientDisconnect: the client has gone; the work has been cancelled.
    """
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        watching.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait({working})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStreamResponse(Response):
    """An answer that is sent while it is made: server-sent events, or lines of JSON.

    The chunks are closed (and what they are made from aborted) as soon as the client goes, also
    while nothing is sent. What clients pass over is sent after `keep_alive_s` seconds of silence.

    Args:
        chunks: encoded events.
        headers: extra response headers.
        keep_alive_s: seconds.
        keep_alive: what is sent then; the default is a comment.
        media_type: of the answer.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        headers: dict[str, str],
        keep_alive_s: float,
        *,
        keep_alive: bytes = b": keep-alive\n\n",
        media_type: str = "text/event-stream",
    ) -> None:
        no_buffers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(headers=no_buffers | headers, media_type=media_type)
        del self.headers["content-length"]
        self._chunks = chunks
        self._keep_alive_s = keep_alive_s
        self._keep_alive = keep_alive
        self._was_silent = True
        self._sending = asyncio.Lock()

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_disconnected(receive, self._send_all(send))
        except (ClientDisconnect, OSError):
            return

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        pinging = asyncio.create_task(self._ping(send))
        try:
            async with aclosing(self._chunks) as chunks:
                async for chunk in chunks:
                    async with self._sending:
                        await send(_body(chunk))
                    self._was_silent = False
        finally:
            pinging.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _ping(self, send: Send) -> None:
        """Send a sign of life for each period in which nothing else was sent."""
        while True:
            self._was_silent = True
            await asyncio.sleep(self._keep_alive_s)
            if self._was_silent:
                async with self._sending:
                    await send(_body(self._keep_alive))


def _body(chunk: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": chunk, "more_body": True}
