"""ProcessEngine: the engine's process as an `EngineClient` and a `Compiler`."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from typing import TYPE_CHECKING

from engine.admission import check_request
from engine.errors import EngineDeadError, InvalidRequestError
from engine.stats import EngineCounters, EngineStats
from engine.waiters import Waiters
from grammars.cache import CacheStats
from server.engine_process.channel import ChannelClosedError
from server.engine_process.compiles import PendingCompiles
from server.engine_process.messages import (
    CODEC,
    Abort,
    Compile,
    Compiled,
    CompileFailed,
    CompileRefused,
    CompileShed,
    Generate,
    GrammarsReady,
    Heartbeat,
    Outputs,
    Progress,
    Refused,
    Release,
)
from server.engine_process.refusals import refusal_error
from server.engine_process.remote import RemoteConstraint, RemoteGrammar
from server.engine_process.supervisor import EngineSupervisor
from server.errors import InternalError, OverloadedError, UnavailableError
from server.logs import request_id_of_task

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from engine.model_info import ModelInfo
    from engine.output import RequestOutput
    from engine.request import Request
    from grammars.spec import GrammarSpec
    from server.engine_process.launch import EngineChild
    from server.engine_process.messages import Start
    from server.engine_process.settings import EngineProcessConfig
    from server.grammar_compiler import ServedGrammar


logger = logging.getLogger(__name__)


class ProcessEngine:
    """Speaks with the engine's process.

    Whatever was under way in a process that ended gets an error, what comes while there is none
    is refused at once; the next process serves what comes after.

    Args:
        child: launched; owned from now on.
        start: what a new process shall load.
        settings: when a process is given up, and how often it is replaced.
        announce: told of what happens to the process.

    Attributes:
        supervisor: has the process, and replaces it.
    """

    def __init__(
        self,
        child: EngineChild,
        start: Start,
        settings: EngineProcessConfig,
        *,
        announce: Callable[[str], None],
    ) -> None:
        self.supervisor = EngineSupervisor(
            child, start, settings, announce=announce, take=self._take, lost=self._lost
        )
        self._compile_timeout_s = settings.compile_timeout_s
        self._waiters = Waiters(self._abort)
        self._compiles = PendingCompiles()
        self._grammars_ready = asyncio.Event()
        self._announce = announce
        self._stats = _no_stats()
        self._cache_stats = CacheStats()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def info(self) -> ModelInfo:
        """Facts about the model."""
        return self.supervisor.ready.info

    @property
    def max_model_len(self) -> int:
        """Tokens of prompt and output together."""
        return self.supervisor.ready.max_model_len

    @property
    def is_alive(self) -> bool:
        """Whether requests are being served."""
        return self.supervisor.child is not None

    def stats(self) -> EngineStats:
        """The state that was last reported; requests on their way count as waiting."""
        num_waiting = max(0, len(self._waiters) - self._stats.num_running)
        return dataclasses.replace(
            self._stats, num_waiting=num_waiting, num_restarts=self.supervisor.num_restarts
        )

    def start(self) -> None:
        """Begin to listen; called once, from the event loop that will use the engine."""
        self._loop = asyncio.get_running_loop()
        self.supervisor.start()

    def check_request(self, request: Request) -> None:
        """Refuse a request that could never run, before anything is sent to a client.

        Raises:
            InvalidRequestError: names the field and the way out.
        """
        check_request(request, self.supervisor.ready, self.info.padded_vocab_size)

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
        if (child := self.supervisor.child) is not None:
            child.channel.send(Abort(request_id))

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
        await self._wait_for_kernels()
        channel = self._live_child_or_refuse().channel
        try:
            with self._compiles.begin(channel) as (grammar_id, answer):
                message = Compile(grammar_id, spec, caller, request_id_of_task.get(), closes)
                async with asyncio.timeout(self._compile_timeout_s):
                    # A structure may have so many parts that this takes a second.
                    encoded = await asyncio.to_thread(CODEC.encode, message)
                    if not answer.done():  # as it is where the process has ended in the meantime
                        channel.send_encoded(encoded)
                    return await answer
        except TimeoutError as error:
            raise UnavailableError(
                f"The constraint was not compiled within {self._compile_timeout_s:g} s; "
                "simplify it, or try again later"
            ) from error

    async def _wait_for_kernels(self) -> None:
        """Does so at the first start on a machine; ends too where the process does."""
        if not (self.supervisor.ready.compiles or self._grammars_ready.is_set()):
            logger.warning("a constraint waits: kernels are compiled, once on this machine")
            await self._grammars_ready.wait()

    async def shutdown(self) -> None:
        """End the process; those who still wait get EngineDeadError."""
        await self.supervisor.shutdown()

    def automaton(self, grammar: ServedGrammar) -> None:
        """Tables are in the engine's process, as grammars are."""

    def cache_stats(self) -> CacheStats:
        """What the cache of grammars there has done, as last reported."""
        return self._cache_stats

    def close(self) -> None:
        """The compiler's end: nothing is left to do, `shutdown` ends it."""

    def _live_child(self) -> EngineChild:
        if self.supervisor.child is None:
            raise EngineDeadError("the engine's process is being started again")
        return self.supervisor.child

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
        if constraint.grammar.generation != self.supervisor.generation:
            raise EngineDeadError("the engine's process was started again in the meantime")
        return constraint.grammar.grammar_id

    def _release(self, grammar_id: int, generation: int) -> None:
        """From any thread, and at any time: a grammar is collected like other garbage."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._send_release, grammar_id, generation)

    def _send_release(self, grammar_id: int, generation: int) -> None:
        child = self.supervisor.child
        if child is not None and generation == self.supervisor.generation:
            child.channel.send(Release(grammar_id))

    def _take(self, message: object) -> None:
        match message:
            case Outputs(outputs, stats):
                self._stats = stats
                for output in outputs:
                    self._waiters.deliver(output.request_id, output)
            case Heartbeat(stats, _, grammars):
                self._stats = stats or self._stats
                self._cache_stats = grammars or self._cache_stats
            case Progress(stage):
                self._announce(stage)
            case GrammarsReady():
                self._announce("Grammars: ready")
                self._grammars_ready.set()
            case Refused(request_id, parameter, reason):
                self._waiters.deliver(request_id, InvalidRequestError(parameter, reason))
            case Compiled():
                self._compiles.succeed(self._remote_grammar(message))
            case CompileRefused(grammar_id):
                self._compiles.fail(grammar_id, refusal_error(message))
            case CompileShed(grammar_id):
                words = "Too many constraints are being compiled; try again later"
                self._compiles.fail(grammar_id, OverloadedError(words))
            case CompileFailed(grammar_id, reason):
                fault = InternalError(f"An error of the server: {reason}")
                self._compiles.fail(grammar_id, fault)
            case _:
                raise ChannelClosedError(f"{type(message).__name__} is not for the server")

    def _remote_grammar(self, message: Compiled) -> RemoteGrammar:
        generation = self.supervisor.generation
        return RemoteGrammar(
            message.grammar_id,
            generation=generation,
            min_tokens=message.min_tokens,
            memory_bytes=message.memory_bytes,
            release=lambda grammar_id: self._release(grammar_id, generation),
        )

    def _lost(self, reason: str) -> None:
        """There is no process any more: nothing that was asked of it will be answered."""
        self._grammars_ready.set()
        self._grammars_ready = asyncio.Event()  # of the next process
        self._stats = _no_stats()
        self._cache_stats = CacheStats()
        self._waiters.fail_all(EngineDeadError(reason))
        self._compiles.fail_all(UnavailableError("The engine has stopped; try again in a moment"))


def _no_stats() -> EngineStats:
    return EngineStats(0, 0, 0, 0, EngineCounters())
