"""uvicorn's settings, and its HTTP/1.1 with limits on slow headers and huge chunks."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.errors import (
    BodyTooLargeError,
    MalformedHttpError,
    ServerError,
    StartupError,
    answer_of,
    error_body,
)

if TYPE_CHECKING:
    import asyncio

    from fastapi import FastAPI

    from server.config import ServerConfig

_LARGEST_LENGTH: Final = 2**63 - 1
"""Of a chunk; what is beyond it is no length on any machine (RFC 9112, section 7.1)."""


def uvicorn_config(app: FastAPI, config: ServerConfig) -> uvicorn.Config:
    """Uvicorn's settings: our HTTP limits, no web sockets, no logging of its own."""
    return uvicorn.Config(
        app,
        host=config.host,
        port=config.port,
        http=http_protocol(config.header_timeout_s, config.max_body_bytes),
        ws="none",
        h11_max_incomplete_event_size=config.max_header_bytes,
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


def http_protocol(header_timeout_s: float, max_body_bytes: int) -> type[H11Protocol]:
    """The protocol class for uvicorn's `http` setting.

    Args:
        header_timeout_s: seconds from a connection's start, or from the first byte of a later
            request on it, to the end of the request's headers; then the connection is closed.
        max_body_bytes: of one chunk; a larger one is refused when it is announced, since its bytes
            may never come. Bodies are counted by who reads them.
    """

    class HttpProtocol(H11Protocol):
        """One connection."""

        _header_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch_headers()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch_headers()
            num_bytes = self._num_announced_bytes()
            if num_bytes > _LARGEST_LENGTH:
                self._refuse(MalformedHttpError("A chunk of 2^63 bytes or more is announced"))
            elif num_bytes > max_body_bytes:
                self._refuse(BodyTooLargeError(max_body_bytes))

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            """The answer to what is no HTTP, in the shape of all errors."""
            self._refuse(MalformedHttpError(msg))

        def _refuse(self, error: ServerError) -> None:
            """Answer, if no answer has begun, and close the connection."""
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                body = msgspec.json.encode(error_body(error))
                headers = [("content-type", "application/json"), ("connection", "close")]
                headers.append(("content-length", str(len(body))))
                head = h11.Response(status_code=answer_of(error).status, headers=headers)
                for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def _num_announced_bytes(self) -> int:
            """How much of the chunk that is being read has not come yet."""
            # h11 tells it nobody; without it a chunk would be waited for until the body times out.
            reader = self.conn._reader  # noqa: SLF001
            return getattr(reader, "_bytes_in_chunk", 0)

        def _watch_headers(self) -> None:
            if self.conn.their_state is not h11.IDLE:
                self._stop_timer()
            elif self._header_timer is None:
                self._header_timer = self.loop.call_later(header_timeout_s, self.transport.close)

        def _stop_timer(self) -> None:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None

    return HttpProtocol
