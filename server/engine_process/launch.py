"""launch: start an engine process and wait until it serves."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from server.engine_process.channel import Channel, ChannelClosedError
from server.engine_process.messages import Heartbeat, Progress, Ready, StartFailed
from server.errors import StartupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.engine_process.messages import Start

_END_S: Final = 5.0

_ENVIRONMENT: Final = MappingProxyType({"OMP_WAIT_POLICY": "PASSIVE"})
"""Of the engine's process, where nothing else is set. Threads of torch sleep while they wait for
each other: by themselves they spin, and take the processor from a compile, or from the thread that
they wait for (decision 38)."""


@dataclass(frozen=True, slots=True)
class EngineChild:
    """A running engine process.

    Args:
        process: its handle.
        channel: to it.
        ready: what it said when it was loaded.
    """

    process: subprocess.Popen[bytes]
    channel: Channel
    ready: Ready

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    async def end(self, *, grace_s: float = _END_S) -> None:
        """Close the channel, wait for the process to end, and kill it if it does not."""
        self.channel.close()
        await asyncio.to_thread(end_process, self.process, grace_s)


async def launch(start: Start, *, announce: Callable[[str], None], silence_s: float) -> EngineChild:
    """Start an engine process.

    Args:
        start: what it shall load.
        announce: told of each stage.
        silence_s: how long it may send nothing, not even a heartbeat, before it is given up.

    Raises:
        StartupError: it cannot serve the model, or died or hung while loading.
    """
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    try:
        with theirs:
            process = _start_process(theirs)
    except OSError:
        channel.close()
        raise
    try:
        channel.send(start)
        return EngineChild(process, channel, await _await_ready(channel, announce, silence_s))
    except BaseException:
        channel.close()
        await asyncio.to_thread(end_process, process, 0.0)
        raise


def _start_process(connection: socket.socket) -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C in the terminal is for the server, which drains."""
    return subprocess.Popen(  # noqa: S603  # our own module
        [sys.executable, "-m", "server.engine_process", str(connection.fileno())],
        pass_fds=(connection.fileno(),),
        stdin=subprocess.DEVNULL,
        env={**_ENVIRONMENT, **os.environ},
        start_new_session=True,
    )


async def _await_ready(
    channel: Channel, announce: Callable[[str], None], silence_s: float
) -> Ready:
    while True:
        try:
            async with asyncio.timeout(silence_s):
                message = await channel.receive()
        except TimeoutError as error:
            raise StartupError(
                f"the engine's process was silent for {silence_s:g} s while it loaded; raise "
                "--engine-loading-silence-s if this machine is that slow"
            ) from error
        except ChannelClosedError as error:
            raise StartupError(
                "the engine's process ended while it loaded; what it wrote above says why (no "
                "word at all often means that the machine's memory was used up)"
            ) from error
        match message:
            case Progress(stage):
                announce(stage)
            case StartFailed(reason):
                raise StartupError(reason)
            case Ready():
                return message
            case Heartbeat():
                pass
            case _:
                raise StartupError(f"the engine's process sent {type(message).__name__} at once")


def end_process(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """Wait for a process to end by itself, then kill it."""
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
