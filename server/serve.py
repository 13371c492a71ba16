"""run_server: load a model, listen, and serve until a stop signal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import uvicorn

from server.app import create_app
from server.assembly import load_server
from server.http_protocol import uvicorn_config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from socket import socket
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
        ServerError: this model cannot be served.
        EngineError: the engine refuses the model or an option.
    """
    loaded = load_server(model_folder, engine_config, server_config, announce=announce)
    app = create_app(loaded.services, lifespan=loaded.lifespan)
    names = loaded.services.model.names
    _AnnouncingServer(
        uvicorn_config(app, server_config), lambda url: announce(_greeting(url, names[0]))
    ).run()


class _AnnouncingServer(uvicorn.Server):
    """Tells its URL when it listens (port 0 is a real one by then); ends cleanly on signals."""

    def __init__(self, config: uvicorn.Config, announce_url: Callable[[str], None]) -> None:
        super().__init__(config)
        self._announce_url = announce_url

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._announce_url(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  # uvicorn's
        """The first signal drains, a second one does not wait; the process then exits with 0."""
        self.force_exit = self.should_exit
        self.should_exit = True


def _greeting(url: str, model: str) -> str:
    body = {"model": model, "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 64}
    return (
        f"Serving {model} at {url}/v1. Try:\n"
        f"curl {url}/v1/chat/completions -H 'content-type: application/json' "
        f"-d '{json.dumps(body)}'"
    )
