"""EngineHost: the engine's side of the channel: loads, compiles, generates, beats."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EngineDeadError, EngineError, InvalidRequestError, failure_sentence
from engine.pacing import Pacer
from grammars import kernel_list as grammar_kernels
from grammars.errors import GrammarError
from server.backend import load_backend
from server.collector import collected_when_idle
from server.engine_process.channel import ChannelClosedError
from server.engine_process.messages import (
    Abort,
    Compile,
    Compiled,
    CompileFailed,
    CompileShed,
    Died,
    Generate,
    GrammarsReady,
    Heartbeat,
    Outputs,
    Progress,
    Ready,
    Refused,
    Release,
    Start,
    StartFailed,
    Stop,
)
from server.engine_process.refusals import refusal_message
from server.errors import OverloadedError, ServerError
from server.grammar_compiler import GrammarCompiler, fewest_tokens
from server.kernels.table import find_missing
from server.logs import request_id_of_task, set_up_logging

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from engine.output import RequestOutput
    from grammars.protocol import CompiledGrammar
    from server.backend import Backend
    from server.engine_process.channel import Channel

logger = logging.getLogger(__name__)


async def host_engine(channel: Channel) -> None:
    """Serve the other process until it says `Stop` or goes away.

    Raises:
        ChannelClosedError: the other process is gone.
    """
    start = await channel.receive()
    assert isinstance(start, Start), "the first message says what to load"
    set_up_logging(start.logs)
    beating = asyncio.create_task(_beat_while_loading(channel, start.heartbeat_s))
    try:
        backend = await asyncio.to_thread(_load, start, channel, asyncio.get_running_loop())
        is_first_start = bool(find_missing(grammar_kernels.KERNELS))
        if not is_first_start:
            await asyncio.to_thread(backend.prepare_grammars)
    except (EngineError, GrammarError, ServerError) as error:
        channel.send(StartFailed(str(error)))
        await channel.flush()
        return
    finally:
        beating.cancel()
    await EngineHost(channel, backend, start, compiles=not is_first_start).run()


def _load(start: Start, channel: Channel, loop: asyncio.AbstractEventLoop) -> Backend:
    def announce(stage: str) -> None:
        loop.call_soon_threadsafe(channel.send, Progress(stage))

    return load_backend(
        Path(start.model_folder),
        start.engine,
        grammar_backend=start.grammar_backend,
        grammar_cache_bytes=start.grammar_cache_bytes,
        announce=announce,
    )


async def _beat_while_loading(channel: Channel, period_s: float) -> None:
    while True:
        channel.send(Heartbeat(None, 0.0))
        await asyncio.sleep(period_s)


class EngineHost:
    """Runs a loaded backend for the process at the other end.

    Args:
        channel: to that process.
        backend: loaded; started here.
        start: the settings.
        compiles: whether the backend is ready for grammars; if not, free text is generated
            meanwhile.
    """

    def __init__(
        self, channel: Channel, backend: Backend, start: Start, *, compiles: bool = True
    ) -> None:
        self._channel = channel
        self._prepare_grammars = None if compiles else backend.prepare_grammars
        self._engine = backend.engine
        self._compiler = GrammarCompiler(
            backend.compile_spec,
            max_concurrent=start.max_concurrent_compiles,
            max_waiting=start.max_waiting_compiles,
            warm_actions=start.warm_actions,
            cache=backend.grammar_cache,
            automata=backend.automata,
            pacer=Pacer(lambda: backend.engine.is_busy),
        )
        self._heartbeat_s = start.heartbeat_s
        self._grammars: dict[int, CompiledGrammar] = {}
        self._compiling: dict[int, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._outputs: list[RequestOutput] = []

    async def run(self) -> None:
        """Serve until `Stop`.

        Raises:
            ChannelClosedError: the other process is gone.
        """
        self._engine.start()
        limits = self._engine.limits
        self._channel.send(
            Ready(
                self._engine.info,
                limits.max_model_len,
                limits.max_logprobs,
                limits.max_listed_tokens,
                compiles=self._prepare_grammars is None,
            )
        )
        if self._prepare_grammars is not None:
            self._spawn(self._become_ready(self._prepare_grammars))
        beating = asyncio.create_task(self._beat())
        try:
            async with collected_when_idle(lambda: not self._tasks):
                while not isinstance(message := await self._channel.receive(), Stop):
                    self._take(message)
        finally:
            beating.cancel()
            self._compiler.close()
        await self._engine.shutdown()

    def _take(self, message: object) -> None:
        match message:
            case Compile(grammar_id, _):
                self._compiling[grammar_id] = self._spawn(self._compile(message))
            case Release(grammar_id):
                self._grammars.pop(grammar_id, None)
                if (compiling := self._compiling.pop(grammar_id, None)) is not None:
                    compiling.cancel()
            case Generate():
                self._spawn(self._generate(message))
            case Abort(request_id):
                # In turn behind the task of its request, which may not have begun yet.
                asyncio.get_running_loop().call_soon(self._engine.abort, request_id)
            case _:
                raise ChannelClosedError(f"{type(message).__name__} is not for the engine")

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _become_ready(self, prepare_grammars: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(prepare_grammars)
        except Exception as error:
            logger.exception("grammars cannot be compiled")
            self._channel.send(Died(str(error)))  # the next process fails while it starts
        else:
            self._channel.send(GrammarsReady())

    async def _compile(self, message: Compile) -> None:
        grammar_id = message.grammar_id
        request_id_of_task.set(message.request_id)
        try:
            grammar = await self._compiler.compile(
                message.spec, caller=message.caller, closes=message.closes
            )
            # Found by the compiler's thread; here it is only looked up.
            min_tokens = fewest_tokens(grammar) if message.closes else None
        except GrammarError as error:
            self._channel.send(refusal_message(grammar_id, error))
        except OverloadedError:
            self._channel.send(CompileShed(grammar_id))
        except Exception as error:
            logger.exception("a grammar failed to compile")
            self._channel.send(CompileFailed(grammar_id, failure_sentence("the compile", error)))
        else:
            self._grammars[grammar_id] = grammar
            self._channel.send(Compiled(grammar_id, min_tokens, grammar.memory_bytes))
        finally:
            self._compiling.pop(grammar_id, None)

    async def _generate(self, message: Generate) -> None:
        request = message.request
        if message.grammar_id is not None:
            # Released only after the requests that name it were sent, and these arrive in order.
            grammar = self._grammars[message.grammar_id]
            request = dataclasses.replace(
                request,
                constraint=grammar.matcher(),
                automaton=self._compiler.automaton(grammar),
            )
        try:
            async with aclosing(self._engine.generate(request)) as outputs:
                async for output in outputs:
                    self._send_output(output)
        except InvalidRequestError as error:
            self._channel.send(Refused(request.request_id, error.parameter, error.reason))
        except EngineDeadError:
            pass  # told by the heartbeat

    def _send_output(self, output: RequestOutput) -> None:
        """Gather what one step adds to all sequences: their tasks run before the next callback."""
        if not self._outputs:
            asyncio.get_running_loop().call_soon(self._send_outputs)
        self._outputs.append(output)

    def _send_outputs(self) -> None:
        self._channel.send(Outputs(tuple(self._outputs), self._engine.stats()))
        self._outputs.clear()

    async def _beat(self) -> None:
        while True:
            if not self._engine.is_alive:
                self._channel.send(Died("the engine's step loop has ended; its log says why"))
            self._channel.send(
                Heartbeat(
                    self._engine.stats(),
                    self._engine.seconds_in_step,
                    self._compiler.cache_stats(),
                )
            )
            await asyncio.sleep(self._heartbeat_s)
