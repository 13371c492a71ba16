"""EngineProcess: an engine in its own process, killed and restarted when needed."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import resource
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psutil

from benchmarks.child_process import end_with_parent
from benchmarks.clock import Clock
from benchmarks.engines.base import make_engine
from benchmarks.grammar_measure import measure
from benchmarks.grammar_outcome import Broken
from benchmarks.grammar_warm_up import warm_up
from server.collector import hold_full_collections

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from benchmarks.engines.base import EngineInfo
    from benchmarks.grammar_measure import Job
    from benchmarks.grammar_outcome import Outcome
    from benchmarks.tokenizer_source import TokenizerSource

_START_LIMIT_S: Final = 600.0
"""Wall seconds until an engine is ready: imports, tables, kernels compiled for the first time."""

_POLL_S: Final = 0.1
_WALL_FACTOR: Final = 10
"""With the CPU clock, wall seconds a second of the limit: a process that sleeps hangs as well."""


class EngineStartError(Exception):
    """An engine's process was not ready; `str()` says why."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How an engine's process measures.

    Args:
        engine: what to measure.
        tokenizer: the tokens.
        clock: of the times and of the limit.
        limit_s: seconds a schema with its documents may take.
        memory_bytes: of address space; more is a crash.
    """

    engine: EngineInfo
    tokenizer: TokenizerSource
    clock: Clock
    limit_s: float
    memory_bytes: int


class EngineProcess:
    """Runs jobs one after the other; a context manager that ends the process.

    Args:
        settings: of the process.

    Raises:
        EngineStartError: it cannot be started.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._start()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()

    def run(self, job: Job) -> Outcome:
        """Measure one schema. After a crash or a timeout the next job gets a new process."""
        try:
            if not self._process.is_alive():
                self._start()
            self._connection.send(job)
            if self._wait():
                outcome: Outcome = self._connection.recv()
                return outcome
        except (EOFError, ConnectionError):
            self._kill()
            return Broken(is_timeout=False, reason=_death(self._process.exitcode))
        except EngineStartError as error:
            self._kill()
            return Broken(is_timeout=False, reason=f"its process did not start again: {error}")
        self._kill()
        return Broken(is_timeout=True, reason=f"no end within {self._settings.limit_s:g} s")

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(self._settings, theirs), daemon=True)
        self._process.start()
        theirs.close()
        try:
            if not self._connection.poll(_START_LIMIT_S):
                raise EngineStartError(f"not ready within {_START_LIMIT_S:g} s")
            problem: str | None = self._connection.recv()
        except EOFError as error:
            self._process.join()
            raise EngineStartError(_death(self._process.exitcode)) from error
        if problem is not None:
            raise EngineStartError(problem)

    def _wait(self) -> bool:
        """Whether an answer came within the limit."""
        limit_s = self._settings.limit_s
        if self._settings.clock is Clock.WALL:
            return self._connection.poll(limit_s)
        process = psutil.Process(self._process.pid)
        cpu_start, wall_start = _cpu_seconds(process), time.monotonic()
        while not self._connection.poll(_POLL_S):
            with contextlib.suppress(psutil.Error):  # it just died: the connection will tell
                if _cpu_seconds(process) - cpu_start > limit_s:
                    return False
            if time.monotonic() - wall_start > _WALL_FACTOR * limit_s:
                return False
        return True

    def _kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._connection.close()


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _death(exitcode: int | None) -> str:
    """Why a process ended."""
    if exitcode is not None and exitcode < 0:
        return f"its process was ended by {signal.Signals(-exitcode).name}"
    return f"its process ended with exit code {exitcode}"


def _work(settings: WorkerSettings, connection: Connection) -> None:
    """The process: report when the engine is ready, then run jobs until the parent is gone."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who then reports
    _be_silent()
    resource.setrlimit(resource.RLIMIT_AS, (settings.memory_bytes, settings.memory_bytes))
    try:
        engine = make_engine(settings.engine, settings.tokenizer)
        warm_up(engine, settings.tokenizer.vocabulary())
    except Exception as error:  # noqa: BLE001 - the parent reports it
        connection.send(f"{type(error).__name__}: {error}")
        return
    gc.collect()
    if settings.engine.mode == "warm":  # as served: nor is all collected while somebody waits
        hold_full_collections()
    else:
        gc.freeze()  # as the server does: what was loaded stays, no collection need walk through it
    connection.send(None)
    while True:
        connection.send(measure(engine, connection.recv(), settings.clock))


def _be_silent() -> None:
    """Engines write warnings and the traces of their panics to the terminal; ours is the table."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
