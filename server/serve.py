"""run_server: load a model, listen, and serve until a stop signal."""

from __future__ import annotations

import asyncio
import json
import shlex
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import uvicorn

from server.app import create_app
from server.assembly import load_server
from server.engine_process.client import ProcessEngine
from server.errors import StartupError, UnavailableError
from server.interpreter import share_interpreter
from server.tracing import NoTracing
from server.uvicorn_settings import check_certificate, uvicorn_config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from engine.config import EngineConfig
    from server.config import ServerConfig
    from server.engine_process.settings import EngineProcessConfig
    from server.lifecycle import Lifecycle
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
        needs_key = bool(server_config.api_key_hashes)
        text = greeting(
            host,
            port,
            loaded.services.model.names[0],
            needs_key=needs_key,
            has_tls=server_config.tls_cert_file is not None,
        )
        server = DrainingServer(
            uvicorn_config(app, server_config),
            loaded.services.lifecycle,
            drain_timeout_s=server_config.drain_timeout_s,
            announce=lambda: announce(text),
        )
        if isinstance(loaded.engine, ProcessEngine):
            loaded.engine.supervisor.on_hopeless = server.give_up
        server.run(sockets=[listener])
    if server.has_given_up:
        raise UnavailableError("the engine could not be started again; what it wrote says why")


class DrainingServer(uvicorn.Server):
    """Tells when it listens; on the first signal it drains, on a second one it ends at once.

    While it drains it goes on listening, so that balancers and clients are told: uvicorn itself
    would close its listener first. It then exits with 0.

    Args:
        config: uvicorn's.
        lifecycle: of the application.
        drain_timeout_s: how long requests under way may take after a signal.
        announce: called once it listens.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        lifecycle: Lifecycle,
        *,
        drain_timeout_s: float,
        announce: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._lifecycle = lifecycle
        self._drain_timeout_s = drain_timeout_s
        self._announce = announce
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None
        self.has_given_up = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  # uvicorn's
        """Of both stop signals; runs between two instructions of the event loop's thread."""
        self.force_exit = self._lifecycle.is_draining
        if self.force_exit or self._loop is None or not self.started:
            self.should_exit = True
            return
        self._lifecycle.drain()
        self._loop.call_soon_threadsafe(self._start_draining)

    def give_up(self) -> None:
        """End without waiting: there is no engine any more."""
        self.has_given_up = True
        self.force_exit = True
        self.should_exit = True

    def _start_draining(self) -> None:
        self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(self._drain_timeout_s):
                await self._lifecycle.idle()
        except TimeoutError:
            self.force_exit = True
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
