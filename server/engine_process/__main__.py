"""The engine's process: `python -m server.engine_process FD`, which only `launch` starts."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import socket
import sys
from typing import Final

from server.engine_process.channel import Channel, ChannelClosedError
from server.engine_process.host import host_engine
from server.interpreter import share_interpreter

_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Serve the engine on the inherited socket; ends when the other process does."""
    _die_with_parent()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    share_interpreter()
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    try:
        asyncio.run(_host(channel))
    except ChannelClosedError:
        os._exit(1)  # nobody is left: a thread in the middle of a step must not keep us
    logging.shutdown()
    os._exit(0)  # libraries that tidy up at the end take a second and tell of themselves


async def _host(channel: Channel) -> None:
    asyncio.get_running_loop().set_exception_handler(_end)
    await host_engine(channel)


def _end(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """End with what nobody caught: a process that has lost a message would leave others waiting."""
    loop.default_exception_handler(context)
    logging.shutdown()
    os._exit(1)


def _die_with_parent() -> None:
    """Let Linux end this process with its parent, even while native code runs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
