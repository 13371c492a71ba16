"""Framing: h11's reading of HTTP/1.1, with limits on the chunks of a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import h11

from server.errors import BodyTooLargeError
from server.request_errors import MalformedHttpError

if TYPE_CHECKING:
    from server.errors import ServerError

_LARGEST_LENGTH: Final = 2**63 - 1
"""Of a chunk; what is beyond it is no length on any machine (RFC 9112, section 7.1)."""


class BoundedConnection(h11.Connection):
    """The server's end of one connection.

    A chunk is refused when it is announced, since its bytes may never come. The bytes of bodies are
    counted by who reads them.

    Args:
        max_header_bytes: of the request line and all headers, and of what is kept of a request
            while another is answered.
        max_body_bytes: of one chunk.
        max_body_chunks: of one body; each costs some 10 µs, also if it brings a single byte.

    Attributes:
        refusal: why reading has ended with `h11.RemoteProtocolError`, if it was for a limit here.
    """

    def __init__(self, *, max_header_bytes: int, max_body_bytes: int, max_body_chunks: int) -> None:
        super().__init__(h11.SERVER, max_header_bytes)
        self._max_body_bytes = max_body_bytes
        self._max_body_chunks = max_body_chunks
        self._num_chunks = 0
        self.refusal: ServerError | None = None

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event of what was received.

        Raises:
            h11.RemoteProtocolError: it is no HTTP/1.1, or past a limit.
        """
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._num_chunks = 0
        elif isinstance(event, h11.Data) and event.chunk_start:
            self._num_chunks += 1
        self._check_chunks()
        return event

    def _check_chunks(self) -> None:
        # h11 tells nobody how much of a chunk has not come yet.
        num_announced: int = getattr(self._reader, "_bytes_in_chunk", 0)
        if num_announced > _LARGEST_LENGTH:
            self.refusal = MalformedHttpError("A chunk of 2^63 bytes or more is announced")
        elif num_announced > self._max_body_bytes:
            self.refusal = BodyTooLargeError(self._max_body_bytes)
        elif self._num_chunks > self._max_body_chunks:
            self.refusal = MalformedHttpError(
                f"The body has more than max_body_chunks={self._max_body_chunks} chunks; send "
                "larger ones, or content-length"
            )
        else:
            return
        raise h11.RemoteProtocolError(self.refusal.message)
