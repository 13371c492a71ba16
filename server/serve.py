"""run_server: load a model, listen, and serve until a stop signal."""

from __future__ import annotations

import json
import shlex
import socket
from typing import TYPE_CHECKING

import uvicorn

from server.app import create_app
from server.assembly import load_server
from server.errors import StartupError
from server.http_protocol import uvicorn_config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from engine.config import EngineConfig
    from server.config import ServerConfig


def run_server(
    model_folder: Path,
    engine_config: EngineConfig,
    server_config: ServerConfig,
    *,
    announce: Callable[[str], None],
) -> None:
    """Serve a model; returns when a stop signal came and running requests have ended.

    Args:
        model_folder: an ordinary Hugging Face folder.
        engine_config: the engine's options.
        server_config: the server's options.
        announce: told of each stage, then the URL and a line to paste.

    Raises:
        ServerError: the address is taken, or this model cannot be served.
        EngineError: the engine refuses the model or an option.
    """
    with _bind(server_config.host, server_config.port) as listener:  # told before the slow part
        loaded = load_server(model_folder, engine_config, server_config, announce=announce)
        app = create_app(loaded.services, lifespan=loaded.lifespan)
        host, port = listener.getsockname()[:2]
        needs_key = bool(server_config.api_key_hashes)
        text = greeting(host, port, loaded.services.model.names[0], needs_key=needs_key)
        server = _AnnouncingServer(uvicorn_config(app, server_config), lambda: announce(text))
        server.run(sockets=[listener])


class _AnnouncingServer(uvicorn.Server):
    """Tells when it listens; ends cleanly on signals."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  # uvicorn's
        """The first signal drains, a second one does not wait; the process then exits with 0."""
        self.force_exit = self.should_exit
        self.should_exit = True


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


def greeting(host: str, port: int, model: str, *, needs_key: bool) -> str:
    """Where the server is, and a line to paste into a second terminal.

    Args:
        host: the address that it listens on.
        port: the real one, though 0 was asked for.
        model: a name that requests may use.
        needs_key: whether API keys are set.
    """
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # not a bind
    url = f"http://{f'[{here}]' if ':' in here else here}:{port}"
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
