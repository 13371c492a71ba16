"""HttpProtocol: uvicorn's HTTP/1.1 with limits on clients that are slow, or do not stop."""

from __future__ import annotations

import socket
import sys
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar

import h11
import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.error_answers import answer_of, error_body
from server.http_framing import BoundedConnection
from server.request_errors import MalformedHttpError

if TYPE_CHECKING:
    import asyncio

    import uvicorn
    from uvicorn.server import ServerState

    from server.config import ServerConfig


class _Awaited(Enum):
    """What a client owes us."""

    NOTHING = auto()
    HEADERS = auto()
    REST = auto()
    """What is left of a body whose request has been answered."""


class HttpProtocol(H11Protocol):
    """One connection.

    It is closed

    * `header_timeout_s` after its start, or after the first byte of a later request, if the headers
      have not arrived;
    * when it has sent more than `max_body_bytes`, or has been sending for `body_timeout_s`, of a
      body whose request has been answered: a client that was refused may still be sending, and
      should be able to read the answer;
    * when more than `max_header_bytes` have come behind a request that is being answered. That much
      is read ahead, because a server that does not read cannot notice that the client goes;
    * by the system (Linux alone), when the client takes nothing for `send_timeout_s`.

    uvicorn makes an instance for each connection and has no place for arguments of ours, so
    `http_protocol` makes a subclass that has the limits.
    """

    limits: ClassVar[ServerConfig]

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._framing = BoundedConnection(
            max_header_bytes=self.limits.max_header_bytes,
            max_body_bytes=self.limits.max_body_bytes,
            max_body_chunks=self.limits.max_body_chunks,
        )
        self.conn = self._framing
        self._awaited = _Awaited.NOTHING
        self._timer: asyncio.TimerHandle | None = None
        self._num_rest_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if sys.platform == "linux" and (connection := transport.get_extra_info("socket")):
            timeout_ms = round(1000 * self.limits.send_timeout_s)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, timeout_ms)
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self._awaited is _Awaited.REST:
            self._num_rest_bytes += len(data)
        super().data_received(data)
        self._watch()
        is_behind = self.flow.read_paused and self.conn.their_state is h11.DONE
        num_behind = len(self.conn.trailing_data[0]) if is_behind else 0
        if (
            num_behind > self.limits.max_header_bytes
            or self._num_rest_bytes > self.limits.max_body_bytes
        ):
            self.transport.close()
        elif is_behind:
            self.flow.resume_reading()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """The answer to what is not HTTP, in the shape of all errors."""
        error = self._framing.refusal or MalformedHttpError(msg)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = msgspec.json.encode(error_body(error))
            headers = [("content-type", "application/json"), ("connection", "close")]
            headers.append(("content-length", str(len(body))))
            head = h11.Response(status_code=answer_of(error).status, headers=headers)
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:
            self.cycle.disconnected = True  # what the application says comes too late
        self.transport.close()

    def _watch(self) -> None:
        """Start the clock of what the client owes, if that has changed."""
        awaited = self._what_is_awaited()
        if awaited is self._awaited:
            return
        self._stop_timer()
        self._awaited, self._num_rest_bytes = awaited, 0
        if awaited is not _Awaited.NOTHING:
            is_head = awaited is _Awaited.HEADERS
            limit_s = self.limits.header_timeout_s if is_head else self.limits.body_timeout_s
            self._timer = self.loop.call_later(limit_s, self.transport.close)

    def _what_is_awaited(self) -> _Awaited:
        if self.conn.their_state is h11.IDLE:
            return _Awaited.HEADERS
        is_answered = self.conn.our_state in (h11.DONE, h11.MUST_CLOSE)
        if is_answered and self.conn.their_state is h11.SEND_BODY:
            return _Awaited.REST
        return _Awaited.NOTHING

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def http_protocol(config: ServerConfig) -> type[HttpProtocol]:
    """The protocol with the limits of a configuration, for uvicorn's setting `http`."""

    class LimitedHttpProtocol(HttpProtocol):
        limits = config

    return LimitedHttpProtocol
