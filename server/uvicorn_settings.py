"""uvicorn's settings: our HTTP protocol, HTTPS with a checked certificate, no web sockets."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import uvicorn

from server.errors import StartupError
from server.http_protocol import http_protocol

if TYPE_CHECKING:
    from fastapi import FastAPI

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
    """Read the certificate and its key, if there are any, so that faults in them show early.

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
