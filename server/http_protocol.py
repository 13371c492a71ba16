"""uvicorn's settings, and its HTTP/1.1 with limits on clients that are slow, or do not stop."""

from __future__ import annotations

import socket
import ssl
import sys
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.error_answers import answer_of, error_body
from server.errors import StartupError
from server.http_framing import BoundedConnection
from server.request_errors import MalformedHttpError

if TYPE_CHECKING:
    import asyncio

    from fastapi import FastAPI
    from uvicorn.server import ServerState

    from server.config import ServerConfig


def uvicorn_config(app: FastAPI, config: ServerConfig) -> uvicorn.Config:
    """Uvicorn's settings: our HTTP limits, no web sockets, no logging of its own."""
    return uvicorn.Config(
        app,
        host=config.host,
        port=config.port,
        http=http_protocol(config),
        ws="none",
        timeout_graceful_shutdown=round(config.drain_timeout_s),
        log_config=None,
        access_log=False,
        server_header=False,
        ssl_certfile=config.tls_cert_file,
        ssl_keyfile=config.tls_key_file,
    )


def check_certificate(config: ServerConfig) -> None:
    """Read the certificate and its key, if there are any, to tell early what is wrong with them.

    Raises:
        StartupError: they are not there, no PEM, or do not belong together.
    """
    if config.tls_cert_file is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            config.tls_cert_file, config.tls_key_file, password=_refuse_passphrase
        )
    except OSError as error:  # ssl.SSLError is one
        raise StartupError(
            f"--tls-cert-file {config.tls_cert_file}, --tls-key-file {config.tls_key_file}: {error}"
        ) from error


def _refuse_passphrase() -> str:
    """Instead of a prompt on the terminal: an empty one, which opens nothing."""
    return ""


class _Awaited(Enum):
    """What a client owes us."""

    NOTHING = auto()
    HEADERS = auto()
    REST = auto()
    """What is left of a body whose request has been answered."""


def http_protocol(config: ServerConfig) -> type[H11Protocol]:
    """The protocol class for uvicorn's `http` setting.

    A connection is closed

    * `header_timeout_s` after its start, or the first byte of a later request, if the headers are
      not there;
    * when it has sent `max_body_bytes`, or for `body_timeout_s`, more of a body whose request has
      been answered: who was refused may still be sending, and shall find the answer;
    * when more than `max_header_bytes` came behind a request that is being answered; so much is
      read, because only who reads notices that a client goes;
    * by the system (Linux alone), when its client takes nothing for `send_timeout_s`.
    """
    max_header_bytes, max_body_bytes = config.max_header_bytes, config.max_body_bytes
    max_body_chunks = config.max_body_chunks
    header_timeout_s, body_timeout_s = config.header_timeout_s, config.body_timeout_s
    send_timeout_s = config.send_timeout_s

    class HttpProtocol(H11Protocol):
        """One connection."""

        def __init__(
            self,
            config: uvicorn.Config,
            server_state: ServerState,
            app_state: dict[str, Any],
            _loop: asyncio.AbstractEventLoop | None = None,
        ) -> None:
            super().__init__(config, server_state, app_state, _loop)
            self._framing = BoundedConnection(
                max_header_bytes=max_header_bytes,
                max_body_bytes=max_body_bytes,
                max_body_chunks=max_body_chunks,
            )
            self.conn = self._framing
            self._awaited = _Awaited.NOTHING
            self._timer: asyncio.TimerHandle | None = None
            self._num_rest_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if sys.platform == "linux" and (connection := transport.get_extra_info("socket")):
                connection.setsockopt(
                    socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * send_timeout_s)
                )
            self._watch()

        def data_received(self, data: bytes) -> None:
            if self._awaited is _Awaited.REST:
                self._num_rest_bytes += len(data)
            super().data_received(data)
            self._watch()
            is_behind = self.flow.read_paused and self.conn.their_state is h11.DONE
            num_behind = len(self.conn.trailing_data[0]) if is_behind else 0
            if num_behind > max_header_bytes or self._num_rest_bytes > max_body_bytes:
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
            """The answer to what is no HTTP, in the shape of all errors."""
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
            """Give the client its time for what it owes."""
            awaited = self._what_is_awaited()
            if awaited is self._awaited:
                return
            self._stop_timer()
            self._awaited, self._num_rest_bytes = awaited, 0
            if awaited is not _Awaited.NOTHING:
                limit_s = header_timeout_s if awaited is _Awaited.HEADERS else body_timeout_s
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

    return HttpProtocol
