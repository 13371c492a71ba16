"""ProcessEngine: the engine's process as an `EngineClient` and a `Compiler`."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import logging
import time
from typing import TYPE_CHECKING

from engine.admission import check_request
from engine.errors import EngineDeadError, InvalidRequestError
from engine.stats import EngineCounters, EngineStats
from engine.waiters import Waiters
from grammars.cache import CacheStats
from server.engine_process.channel import ChannelClosedError
from server.engine_process.codec import CodecError
from server.engine_process.launch import launch
from server.engine_process.messages import (
    Abort,
    Compile,
    Compiled,
    CompileFailed,
    CompileRefused,
    CompileShed,
    Died,
    Generate,
    Heartbeat,
    Outputs,
    Refused,
    Release,
    Stop,
)
from server.engine_process.refusals import refusal_error
from server.engine_process.remote import RemoteConstraint, RemoteGrammar
from server.errors import InternalError, OverloadedError, StartupError, UnavailableError
from server.logs import request_id_of_task

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from engine.model_info import ModelInfo
    from engine.output import RequestOutput
    from engine.request import Request
    from grammars.spec import GrammarSpec
    from server.engine_process.launch import EngineChild
    from server.engine_process.messages import Ready, Start
    from server.engine_process.settings import EngineProcessConfig
    from server.grammar_compiler import ServedGrammar

logger = logging.getLogger(__name__)


class ProcessEngine:
    """Speaks with the engine's process, watches it, and starts another when it dies or hangs.

    Whatever was under way in a process that ended gets an error, what comes while there is none
    is refused at once; the next process serves what comes after.

    Args:
        child: launched; owned from now on.
        start: what a new process shall load.
        settings: when a process is given up, and how often it is replaced.
        announce: told of what happens to the process.

    Attributes:
        on_hopeless: called when no process could be started any more.
        num_restarts: processes that replaced another.
    """

    def __init__(
        self,
        child: EngineChild,
        start: Start,
        settings: EngineProcessConfig,
        *,
        announce: Callable[[str], None],
    ) -> None:
        self._child: EngineChild | None = child
        self._ready: Ready = child.ready
        self._start_message = start
        self._settings = settings
        self._announce = announce
        self.on_hopeless: Callable[[], None] = lambda: None
        self._generation = 0
        self.num_restarts = 0
        self._num_attempts = 0
        self._ids = itertools.count()
        self._waiters = Waiters(self._abort)
        self._compiles: dict[int, asyncio.Future[RemoteGrammar]] = {}
        self._stats = _no_stats()
        self._cache_stats = CacheStats()
        self._last_heard = 0.0
        self._seconds_in_step = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._supervising: asyncio.Task[None] | None = None

    @property
    def info(self) -> ModelInfo:
        """Facts about the model."""
        return self._ready.info

    @property
    def max_model_len(self) -> int:
        """Tokens of prompt and output together."""
        return self._ready.max_model_len

    @property
    def is_alive(self) -> bool:
        """Whether requests are being served."""
        return self._child is not None

    @property
    def pid(self) -> int | None:
        """The process id of the engine; None while there is none."""
        return None if self._child is None else self._child.pid

    def stats(self) -> EngineStats:
        """The state that was last told; requests on their way count as waiting."""
        num_waiting = max(0, len(self._waiters) - self._stats.num_running)
        return dataclasses.replace(self._stats, num_waiting=num_waiting)

    def start(self) -> None:
        """Begin to listen; called once, from the event loop that will use the engine."""
        self._loop = asyncio.get_running_loop()
        self._supervising = self._loop.create_task(self._supervise())

    def check_request(self, request: Request) -> None:
        """Refuse a request that could never run, before anything is sent to a client.

        Raises:
            InvalidRequestError: names the field and the way out.
        """
        check_request(request, self._ready, self.info.padded_vocab_size)

    def generate(self, request: Request) -> AsyncGenerator[RequestOutput, None]:
        """Yield what each step adds to the request, the last output with a finish reason.

        Closing the generator (or cancelling the task that iterates it) aborts the request.

        Raises:
            InvalidRequestError: the request could never run, or its id is in use.
            EngineDeadError: the engine's process is gone, or ends before the request does.
        """
        return self._waiters.outputs(request.request_id, lambda: self._begin(request))

    def _begin(self, request: Request) -> None:
        self.check_request(request)
        channel = self._live_child().channel
        grammar_id = self._grammar_id(request)
        channel.send(Generate(dataclasses.replace(request, constraint=None), grammar_id))

    def _abort(self, request_id: str) -> None:
        if self._child is not None:
            self._child.channel.send(Abort(request_id))

    async def compile(
        self, spec: GrammarSpec, *, caller: bytes = b"", closes: bool = False
    ) -> RemoteGrammar:
        """Compile a spec there. Cancelling takes it out of the queue.

        Args:
            spec: what is asked for.
            caller: who asks; callers take turns.
            closes: whether texts will have to close in time.

        Raises:
            GrammarError: the spec is refused.
            OverloadedError: too many compiles are waiting.
            UnavailableError: the engine's process is gone, or took too long.
        """
        channel = self._live_child_or_refuse().channel
        grammar_id = next(self._ids)
        answer: asyncio.Future[RemoteGrammar] = asyncio.get_running_loop().create_future()
        self._compiles[grammar_id] = answer
        channel.send(Compile(grammar_id, spec, caller, request_id_of_task.get(), closes))
        try:
            async with asyncio.timeout(self._settings.compile_timeout_s):
                return await answer
        except TimeoutError as error:
            raise UnavailableError(
                f"The constraint was not compiled within {self._settings.compile_timeout_s:g} s; "
                "simplify it, or try again later"
            ) from error
        finally:
            del self._compiles[grammar_id]
            if not answer.done() or answer.cancelled():
                channel.send(Release(grammar_id))

    async def shutdown(self) -> None:
        """End the process; those who still wait get EngineDeadError."""
        if self._supervising is not None:
            self._supervising.cancel()
            await asyncio.wait({self._supervising})
        child, self._child = self._child, None
        self._fail_all("the engine was shut down")
        if child is not None:
            child.channel.send(Stop())
            await child.channel.flush()
            await child.end()

    def automaton(self, grammar: ServedGrammar) -> None:
        """Tables are in the engine's process, as grammars are."""

    def cache_stats(self) -> CacheStats:
        """What the cache of grammars there has done, as it was last told."""
        return self._cache_stats

    def close(self) -> None:
        """The compiler's end: nothing is left to do, `shutdown` ends it."""

    def _live_child(self) -> EngineChild:
        if self._child is None:
            raise EngineDeadError("the engine's process is being started again")
        return self._child

    def _live_child_or_refuse(self) -> EngineChild:
        try:
            return self._live_child()
        except EngineDeadError as error:
            raise UnavailableError("The engine is being started again; try again later") from error

    def _grammar_id(self, request: Request) -> int | None:
        constraint = request.constraint
        if constraint is None:
            return None
        assert isinstance(constraint, RemoteConstraint), "compiled by another compiler"
        if constraint.grammar.generation != self._generation:
            raise EngineDeadError("the engine's process was started again in the meantime")
        return constraint.grammar.grammar_id

    def _release(self, grammar_id: int, generation: int) -> None:
        """From any thread, and at any time: a grammar is collected like other garbage."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._send_release, grammar_id, generation)

    def _send_release(self, grammar_id: int, generation: int) -> None:
        if self._child is not None and generation == self._generation:
            self._child.channel.send(Release(grammar_id))

    # What follows runs in one task: listen until the process is lost, start another, again.

    async def _supervise(self) -> None:
        while self._child is not None:
            began = time.monotonic()
            reason = await self._listen(self._child)
            if time.monotonic() - began > self._settings.engine_stable_s:
                self._num_attempts = 0
            await self._lose(self._child, reason)
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
                match message:
                    case Died(reason):
                        return reason
                    case _:
                        self._take(message)
        except (ChannelClosedError, CodecError) as error:
            return str(error)

    def _take(self, message: object) -> None:
        match message:
            case Outputs(outputs, stats):
                self._stats = stats
                for output in outputs:
                    self._waiters.deliver(output.request_id, output)
            case Heartbeat(stats, seconds_in_step, grammars):
                self._stats = stats or self._stats
                self._cache_stats = grammars or self._cache_stats
                self._seconds_in_step = seconds_in_step
            case Refused(request_id, parameter, reason):
                self._waiters.deliver(request_id, InvalidRequestError(parameter, reason))
            case Compiled():
                self._answer_compile(message.grammar_id, self._remote_grammar(message))
            case CompileRefused(grammar_id):
                self._answer_compile(grammar_id, refusal_error(message))
            case CompileShed(grammar_id):
                words = "Too many constraints are being compiled; try again later"
                self._answer_compile(grammar_id, OverloadedError(words))
            case CompileFailed(grammar_id, reason):
                self._answer_compile(grammar_id, InternalError(f"An error of the server: {reason}"))
            case _:
                raise ChannelClosedError(f"{type(message).__name__} is not for the server")

    def _remote_grammar(self, message: Compiled) -> RemoteGrammar:
        generation = self._generation
        return RemoteGrammar(
            message.grammar_id,
            generation=generation,
            min_tokens=message.min_tokens,
            memory_bytes=message.memory_bytes,
            release=lambda grammar_id: self._release(grammar_id, generation),
        )

    def _answer_compile(self, grammar_id: int, answer: RemoteGrammar | Exception) -> None:
        future = self._compiles.get(grammar_id)
        if future is None or future.done():
            return  # nobody waits any more; a grammar is released as it is dropped here
        if isinstance(answer, RemoteGrammar):
            future.set_result(answer)
        else:
            future.set_exception(answer)

    async def _lose(self, child: EngineChild, reason: str) -> None:
        logger.error("the engine's process %d is lost: %s", child.pid, reason)
        self._announce(f"The engine's process is lost: {reason}")
        self._child = None
        self._generation += 1
        self._stats = _no_stats()
        self._cache_stats = CacheStats()
        self._fail_all("the engine has stopped")
        await child.end(grace_s=0.0)

    def _fail_all(self, reason: str) -> None:
        self._waiters.fail_all(EngineDeadError(reason))
        for future in self._compiles.values():
            if not future.done():
                future.set_exception(
                    UnavailableError("The engine has stopped; try again in a moment")
                )

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
                self._child = await launch(
                    self._start_message,
                    announce=self._announce,
                    silence_s=settings.engine_loading_silence_s,
                )
            except (StartupError, OSError) as error:
                logger.exception("the engine's process could not be replaced")
                self._announce(f"The engine could not be started again: {error}")
            else:
                self._ready = self._child.ready
                self.num_restarts += 1
                self._announce("The engine serves again")
                return
        self.on_hopeless()


def _no_stats() -> EngineStats:
    return EngineStats(0, 0, 0, 0, EngineCounters())
