"""uvicorn's settings, and its HTTP/1.1 with a limit on the time that headers may take."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.errors import MalformedHttpError, StartupError, error_body

if TYPE_CHECKING:
    import asyncio

    from fastapi import FastAPI

    from server.config import ServerConfig


def uvicorn_config(app: FastAPI, config: ServerConfig) -> uvicorn.Config:
    """Uvicorn's settings: our HTTP limits, no web sockets, no logging of its own."""
    return uvicorn.Config(
        app,
        host=config.host,
        port=config.port,
        http=http_protocol(config.header_timeout_s),
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


def http_protocol(header_timeout_s: float) -> type[H11Protocol]:
    """The protocol class for uvicorn's `http` setting.

    Args:
        header_timeout_s: seconds from a connection's start, or from the first byte of a later
            request on it, to the end of the request's headers; then the connection is closed.
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

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            """The answer to what is no HTTP, in the shape of all errors."""
            body = msgspec.json.encode(error_body(MalformedHttpError(msg)))
            headers = [("content-type", "application/json"), ("connection", "close")]
            headers.append(("content-length", str(len(body))))
            reason = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (reason, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

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
