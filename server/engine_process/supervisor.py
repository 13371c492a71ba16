"""EngineSupervisor: watches the engine's process, and starts another when it dies or hangs."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from server.engine_process.channel import ChannelClosedError
from server.engine_process.codec import CodecError
from server.engine_process.launch import launch
from server.engine_process.messages import Died, Heartbeat, Stop
from server.errors import StartupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.engine_process.launch import EngineChild
    from server.engine_process.messages import Ready, Start
    from server.engine_process.settings import EngineProcessConfig

logger = logging.getLogger(__name__)


class EngineSupervisor:
    """One task: listen to the process until it is lost, start another, and again.

    Args:
        child: launched; owned from now on.
        start: what a new process shall load.
        settings: when a process is given up, and how often it is replaced.
        announce: told of what happens to the process.
        take: gets the messages of the process; raises ChannelClosedError for one that is not ours.
        lost: told that a process is gone, and why; there is none at that moment.

    Attributes:
        child: the process that serves; None while there is none.
        ready: what the last process said when it was loaded.
        generation: counts the processes: what was sent to one, the next does not know.
        num_restarts: processes that replaced another.
        on_hopeless: called when no process could be started any more.
    """

    def __init__(
        self,
        child: EngineChild,
        start: Start,
        settings: EngineProcessConfig,
        *,
        announce: Callable[[str], None],
        take: Callable[[object], None],
        lost: Callable[[str], None],
    ) -> None:
        self.child: EngineChild | None = child
        self.ready: Ready = child.ready
        self.generation = 0
        self.num_restarts = 0
        self.on_hopeless: Callable[[], None] = lambda: None
        self._start = start
        self._settings = settings
        self._announce = announce
        self._take = take
        self._lost = lost
        self._num_attempts = 0
        self._last_heard = 0.0
        self._seconds_in_step = 0.0
        self._supervising: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, on the running event loop; called once."""
        self._supervising = asyncio.get_running_loop().create_task(self._supervise())

    async def shutdown(self) -> None:
        """End the process; no other is started."""
        if self._supervising is not None:
            self._supervising.cancel()
            await asyncio.wait({self._supervising})
        child, self.child = self.child, None
        self._lost("the engine was shut down")
        if child is not None:
            child.channel.send(Stop())
            await child.channel.flush()
            await child.end()

    async def _supervise(self) -> None:
        while self.child is not None:
            began = time.monotonic()
            reason = await self._listen(self.child)
            if time.monotonic() - began > self._settings.engine_stable_s:
                self._num_attempts = 0
            await self._lose(self.child, reason)
            await self._start_another()

    async def _listen(self, child: EngineChild) -> str:
        """Take messages until the process is lost; says why it is."""
        self._last_heard = time.monotonic()
        self._seconds_in_step = 0.0
        watching = asyncio.create_task(self._watch())
        receiving = asyncio.create_task(self._receive(child))
        try:
            await asyncio.wait({watching, receiving}, return_when=asyncio.FIRST_COMPLETED)
            return (receiving if receiving.done() else watching).result()
        finally:
            for task in (watching, receiving):
                task.cancel()

    async def _watch(self) -> str:
        settings = self._settings
        while True:
            await asyncio.sleep(settings.engine_heartbeat_s)
            silence_s = time.monotonic() - self._last_heard
            if silence_s > settings.engine_silence_s:
                return f"it has been silent for {silence_s:.1f} s"
            if self._seconds_in_step > settings.engine_step_timeout_s:
                return f"a step has taken {self._seconds_in_step:.1f} s"

    async def _receive(self, child: EngineChild) -> str:
        try:
            while True:
                message = await child.channel.receive()
                self._last_heard = time.monotonic()
                if isinstance(message, Died):
                    return message.reason
                if isinstance(message, Heartbeat):
                    self._seconds_in_step = message.seconds_in_step
                self._take(message)
        except (ChannelClosedError, CodecError) as error:
            return str(error)

    async def _lose(self, child: EngineChild, reason: str) -> None:
        logger.error("the engine's process %d is lost: %s", child.pid, reason)
        self._announce(f"The engine's process is lost: {reason}")
        self.child = None
        self.generation += 1
        self._lost("the engine has stopped")
        await child.end(grace_s=0.0)

    async def _start_another(self) -> None:
        """Start a new process, with growing pauses; give up after `max_engine_restarts` attempts.

        A process that died soon after its start counts as an attempt, or one request that kills
        each process would have the model loaded for ever.
        """
        settings = self._settings
        while self._num_attempts < settings.max_engine_restarts:
            await asyncio.sleep(settings.engine_restart_pause_s * (2**self._num_attempts - 1))
            self._num_attempts += 1
            try:
                self.child = await launch(
                    self._start,
                    announce=self._announce,
                    silence_s=settings.engine_loading_silence_s,
                )
            except (StartupError, OSError) as error:
                logger.exception("the engine's process could not be replaced")
                self._announce(f"The engine could not be started again: {error}")
            else:
                self.ready = self.child.ready
                self.num_restarts += 1
                self._announce("The engine serves again")
                return
        self.on_hopeless()
