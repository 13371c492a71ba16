"""Channel: messages over a connected socket, each with its length before it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from server.engine_process.messages import CODEC

if TYPE_CHECKING:
    import socket

logger = logging.getLogger(__name__)

_LENGTH_BYTES: Final = 4
MAX_MESSAGE_BYTES: Final = 256 * 2**20
"""Far above what admission lets through; a longer one is a fault, not a message."""

_READ_BYTES: Final = 2**18

_INLINE_BYTES: Final = 2**16
"""Messages up to this size are decoded on the event loop, larger ones in a thread."""


class ChannelClosedError(Exception):
    """The other side is gone, or talks nonsense."""


class Channel:
    """One reader and any number of senders, all on one event loop (another one later is fine).

    Messages arrive whole and in the order in which they were sent.

    Args:
        connection: a stream socket, owned by the channel from now on.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._received = bytearray()
        self._outbox = bytearray()
        self._writing: asyncio.Task[None] | None = None

    def send(self, message: object) -> None:
        """Queue a message; it goes out as soon as the event loop is free.

        If the other side is gone, it is dropped: whoever reads will notice.
        """
        self.send_encoded(CODEC.encode(message))

    def send_encoded(self, data: bytes) -> None:
        """The same for a message that was encoded before, as large ones are in another thread."""
        self._outbox += len(data).to_bytes(_LENGTH_BYTES, "big")
        self._outbox += data
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def receive(self) -> object:
        """The next message.

        Raises:
            ChannelClosedError: there will be none.
            CodecError: it is none of ours.
        """
        length = int.from_bytes(await self._take(_LENGTH_BYTES), "big")
        if length > MAX_MESSAGE_BYTES:
            raise ChannelClosedError(f"a message of {length} bytes is announced")
        data = await self._take(length)
        if length <= _INLINE_BYTES:
            return CODEC.decode(data)
        return await asyncio.to_thread(CODEC.decode, data)

    async def flush(self) -> None:
        """Wait until everything is sent, or the other side is gone."""
        while self._writing is not None:
            await asyncio.wait({self._writing})

    def close(self) -> None:
        """Close the socket; whoever waits on the other side learns of it."""
        if self._writing is not None:
            self._writing.cancel()
        self._connection.close()

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._outbox:
                data, self._outbox = self._outbox, bytearray()
                await loop.sock_sendall(self._connection, data)
        except OSError as error:
            logger.debug("the other process does not read any more: %s", error)
            self._outbox.clear()
        finally:
            self._writing = None

    async def _take(self, num_bytes: int) -> bytes:
        loop = asyncio.get_running_loop()
        while len(self._received) < num_bytes:
            try:
                data = await loop.sock_recv(self._connection, _READ_BYTES)
            except OSError as error:
                raise ChannelClosedError(f"the other process is gone: {error}") from error
            if not data:
                raise ChannelClosedError("the other process is gone")
            self._received += data
        taken = bytes(self._received[:num_bytes])
        del self._received[:num_bytes]
        return taken
