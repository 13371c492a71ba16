"""AsyncEngine: the engine in its own thread, for one asyncio event loop.

Only requests, ids, outputs and numbers cross between the loop and the thread. So a client of an
engine in another process can take the place of this class.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from engine.cut_texts import CutTexts
from engine.errors import EngineDeadError, InvalidRequestError
from engine.output import FinishReason
from engine.waiters import Waiters

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from engine.admission import RequestLimits
    from engine.engine import Engine
    from engine.model_info import ModelInfo
    from engine.output import RequestOutput
    from engine.request import Request
    from engine.stats import EngineStats
    from engine.waiters import Delivery

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Add:
    request: Request


@dataclass(frozen=True, slots=True)
class _Abort:
    request_id: str


@dataclass(frozen=True, slots=True)
class _Stop:
    pass


_Command: TypeAlias = _Add | _Abort | _Stop


class AsyncEngine:
    """Runs an engine in a thread and hands its outputs to the tasks that wait for them.

    All methods are called from the event loop that called `start`.

    Args:
        engine: owned by the thread from `start` on.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._commands: queue.SimpleQueue[_Command] = queue.SimpleQueue()
        self._waiters = Waiters(self.abort)
        self._cut_texts = CutTexts()
        self._thread = threading.Thread(target=self._run, name="tightrope-engine", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stats = engine.stats()
        self._death: EngineDeadError | None = None
        self._step_began: float | None = None

    @property
    def info(self) -> ModelInfo:
        """Facts about the model."""
        return self._engine.info

    @property
    def max_model_len(self) -> int:
        """Tokens of prompt and output together."""
        return self._engine.config.max_model_len

    @property
    def limits(self) -> RequestLimits:
        """What requests must keep to."""
        return self._engine.config

    @property
    def seconds_in_step(self) -> float:
        """How long the step under way has taken; 0 between steps."""
        began = self._step_began
        return 0.0 if began is None else time.monotonic() - began

    @property
    def is_busy(self) -> bool:
        """Whether requests were running after the last step; any thread may ask."""
        return self._stats.num_running > 0

    @property
    def is_alive(self) -> bool:
        """Whether requests are being served."""
        return self._death is None and self._thread.is_alive()

    def stats(self) -> EngineStats:
        """The state after the last step; requests on their way to the thread count as waiting."""
        num_waiting = max(0, len(self._waiters) - self._stats.num_running)
        return dataclasses.replace(self._stats, num_waiting=num_waiting)

    def start(self) -> None:
        """Start the thread; called once, from the event loop that will use the engine."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def check_request(self, request: Request) -> None:
        """Refuse a request that could never run, before anything is sent to a client.

        Raises:
            InvalidRequestError: names the field and the way out.
        """
        self._engine.check_request(request)

    async def generate(self, request: Request) -> AsyncGenerator[RequestOutput, None]:
        """Yield what each step adds to the request, the last output with a finish reason.

        Closing the generator (or cancelling the task that iterates it) aborts the request.

        Raises:
            InvalidRequestError: the request could never run, or its id is in use.
            EngineDeadError: the engine has stopped, or stops before the request ends.
        """
        outputs = self._waiters.outputs(request.request_id, lambda: self._begin(request))
        async with contextlib.aclosing(outputs):
            async for output in outputs:
                yield await self._completed(output, request)

    async def _completed(self, output: RequestOutput, request: Request) -> RequestOutput:
        """An output with what the step loop has no time to find."""
        if output.finish_reason is not FinishReason.LENGTH or request.constraint is None:
            return output
        missing = await self._cut_texts.num_missing_tokens(request.constraint)
        return dataclasses.replace(output, num_missing_tokens=missing)

    def _begin(self, request: Request) -> None:
        self.check_request(request)
        if not self.is_alive:
            raise self._death or EngineDeadError("the engine is not running")
        self._commands.put(_Add(request))

    def abort(self, request_id: str) -> None:
        """End a request; who iterates it gets a last output with reason ABORT."""
        self._commands.put(_Abort(request_id))

    async def shutdown(self) -> None:
        """Stop the thread after the step it is in; those who still wait get EngineDeadError."""
        self._commands.put(_Stop())
        await asyncio.to_thread(self._thread.join)
        self._cut_texts.close()
        self._die(EngineDeadError("the engine was shut down"))

    def _run(self) -> None:
        """The thread: take commands, step, deliver; until told to stop or something breaks."""
        error = EngineDeadError("the engine was shut down")
        try:
            while self._take_commands():
                self._step_began = time.monotonic()
                outputs = self._engine.step()
                self._step_began = None
                self._deliver(outputs)
        except BaseException as cause:
            logger.exception("the engine's step loop has ended")
            error = EngineDeadError(f"the engine has stopped ({type(cause).__name__})")
            error.__cause__ = cause
        finally:
            self._call_loop(self._die, error)
            self._engine.close()

    def _take_commands(self) -> bool:
        """Carry out all commands; waits for one while there is nothing to do. False: stop."""
        while True:
            try:
                command = self._commands.get(block=not self._engine.has_unfinished)
            except queue.Empty:
                return True
            match command:
                case _Add(request):
                    self._add(request)
                case _Abort(request_id):
                    output = self._engine.abort(request_id)
                    self._deliver([] if output is None else [output])
                case _Stop():
                    return False

    def _add(self, request: Request) -> None:
        try:
            self._engine.add_request(request)
        except InvalidRequestError as error:
            self._send([(request.request_id, error)])

    def _deliver(self, outputs: list[RequestOutput]) -> None:
        """Hand all outputs of a step to the loop in one call."""
        self._send([(output.request_id, output) for output in outputs])

    def _send(self, deliveries: list[tuple[str, Delivery]]) -> None:
        self._call_loop(self._hand_over, deliveries, self._engine.stats())

    def _call_loop(self, function: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None, "the thread runs only after start()"
        # A loop that was closed without shutdown() has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)

    def _hand_over(self, deliveries: list[tuple[str, Delivery]], stats: EngineStats) -> None:
        """In the event loop: pass a step's outputs on to those who wait for them."""
        self._stats = stats
        for request_id, delivery in deliveries:
            self._waiters.deliver(request_id, delivery)

    def _die(self, error: EngineDeadError) -> None:
        """In the event loop: tell everybody who waits that nothing more will come."""
        self._death = self._death or error
        self._waiters.fail_all(self._death)
