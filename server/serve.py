"""run_server: load a model, listen, and serve until a stop signal."""

from __future__ import annotations

import json
import shlex
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

from server.app import create_app
from server.assembly import load_server
from server.draining import DrainingServer
from server.engine_process.client import ProcessEngine
from server.errors import StartupError, UnavailableError
from server.interpreter import share_interpreter
from server.tracing import NoTracing
from server.uvicorn_settings import check_certificate, uvicorn_config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from engine.config import EngineConfig
    from server.config import ServerConfig
    from server.engine_process.settings import EngineProcessConfig
    from server.tracing import Tracing


def run_server(
    model_folder: Path,
    engine_config: EngineConfig,
    server_config: ServerConfig,
    process_config: EngineProcessConfig,
    *,
    announce: Callable[[str], None],
    tracing: Tracing | None = None,
) -> None:
    """Serve a model; returns when a stop signal came and running requests have ended.

    Args:
        model_folder: an ordinary Hugging Face folder.
        engine_config: the engine's options.
        server_config: the server's options.
        process_config: whether the engine lives in a process of its own.
        announce: told of each stage, then the URL and a line to paste.
        tracing: makes spans; None: there are none.

    Raises:
        ServerError: the address is taken, this model cannot be served, or its engine died for good.
        EngineError: the engine refuses the model or an option.
    """
    check_certificate(server_config)
    share_interpreter()
    with _bind(server_config.host, server_config.port) as listener:  # told before the slow part
        loaded = load_server(
            model_folder, engine_config, server_config, process_config, announce=announce
        )
        services = replace(loaded.services, tracing=tracing or NoTracing())
        app = create_app(services, lifespan=loaded.lifespan)
        host, port = listener.getsockname()[:2]
        text = greeting(
            host,
            port,
            services.model.names[0],
            needs_key=bool(server_config.api_key_hashes),
            has_tls=server_config.tls_cert_file is not None,
        )
        server = DrainingServer(
            uvicorn_config(app, server_config),
            services.lifecycle,
            drain_timeout_s=server_config.drain_timeout_s,
            announce=lambda: announce(text),
        )
        if isinstance(loaded.engine, ProcessEngine):
            loaded.engine.supervisor.on_hopeless = server.give_up
        server.run(sockets=[listener])
    if server.has_given_up:
        raise UnavailableError("the engine could not be started again; what it wrote says why")


def _bind(host: str, port: int) -> socket.socket:
    """A socket that has its address, but does not listen yet.

    Raises:
        StartupError: the address is taken, or none of this machine.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise StartupError(
            f"cannot listen on {host}, port {port}: {error.strerror}; choose another --host or "
            "--port (0 finds a free one)"
        ) from error
    return listener


def greeting(host: str, port: int, model: str, *, needs_key: bool, has_tls: bool = False) -> str:
    """Where the server is, and a line to paste into a second terminal.

    Args:
        host: the address that it listens on.
        port: the real one, though 0 was asked for.
        model: a name that requests may use.
        needs_key: whether API keys are set.
        has_tls: whether it speaks HTTPS.
    """
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # not a bind
    url = f"http{'s' if has_tls else ''}://{f'[{here}]' if ':' in here else here}:{port}"
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "Name a colour."}],
        "structured_outputs": {"choice": ["red", "green", "blue"]},
    }
    command = ["curl", f"{url}/v1/chat/completions", "-H", "content-type: application/json"]
    if needs_key:
        command += ["-H", "authorization: Bearer KEY"]
    command += ["-d", json.dumps(body)]
    hint = "Try, with one of your keys for KEY" if needs_key else "Try"
    return f"Serving {model} at {url}/v1. {hint}:\n{shlex.join(command)}"
