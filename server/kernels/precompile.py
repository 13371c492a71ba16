"""compiling_kernels: processes compile what numba has not on disk, while this one goes on."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from server.kernels.table import find_kept_nowhere, find_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from server.kernels.table import KernelTable

    Wait = Callable[[Collection[str]], None]

logger = logging.getLogger(__name__)

MAX_WORKERS: Final = 4
"""The longest module takes a quarter of the whole; each worker takes 200 MB."""


@contextmanager
def compiling_kernels(
    table: KernelTable,
    announce: Callable[[str], None],
    *,
    giving_way: Collection[str] = (),
    num_processors: int | None = None,
) -> Iterator[Wait]:
    """Within this context processes compile the kernels that are not on disk.

    A module is compiled by one process, whole: its kernels share helpers, and numba's index of a
    function could lose an entry that two processes write at the same time. Leaving the context ends
    the processes. Whatever they did not get to is compiled by the process that calls it.

    Args:
        table: the kernels, in the order in which they are needed.
        announce: told when a kernel's compile begins, from threads.
        giving_way: modules, the last of the table, during whose compile other processes go first.
        num_processors: as many processes at most; with one, nothing is compiled ahead. None:
            of this machine.

    Yields:
        A function that waits until some modules are compiled, or nobody is left to compile them.
    """
    if find_kept_nowhere(table):
        logger.warning(
            "numba can write to no folder, so its machine code is compiled again at each start, "
            "which takes up to a minute; set NUMBA_CACHE_DIR to a folder that can be written"
        )
    missing = find_missing(table)
    num_processors = num_processors or _count_processors()
    num_workers = min(len(missing), num_processors, MAX_WORKERS) if num_processors > 1 else 0
    workers = _Workers(missing, announce, giving_way, num_workers)
    with ThreadPoolExecutor(max(1, num_workers), "tightrope-kernels") as threads:
        runs = [threads.submit(workers.run_one) for _ in range(num_workers)]

        def wait(modules: Collection[str]) -> None:
            workers.wait(modules)
            for run in runs:
                if run.done():
                    run.result()

        try:
            yield wait
        finally:
            workers.end()


class _Workers:
    """The processes and what is left for them to do."""

    def __init__(
        self,
        missing: KernelTable,
        announce: Callable[[str], None],
        giving_way: Collection[str],
        num_workers: int,
    ) -> None:
        self._announce = announce
        self._giving_way = giving_way
        self._total = sum(map(len, missing.values()))
        self._change = threading.Condition()  # guards all that follows
        self._todo: deque[tuple[str, Mapping[str, str]]] = deque(missing.items())
        self._unfinished = set(missing)
        self._num_announced = 0
        self._num_running = num_workers
        self._processes: list[subprocess.Popen[str]] = []
        self._has_ended = False

    def wait(self, modules: Collection[str]) -> None:
        """Wait until these are compiled, or nobody is left to compile them."""
        with self._change:
            self._change.wait_for(
                lambda: self._num_running == 0 or self._unfinished.isdisjoint(modules)
            )

    def run_one(self) -> None:
        """Start a process and hand it one module after another."""
        try:
            self._run_process()
        finally:
            with self._change:
                self._num_running -= 1
                self._change.notify_all()

    def end(self) -> None:
        """Give up what is left, and end the processes."""
        with self._change:
            self._has_ended = True
            self._todo.clear()
            for process in self._processes:
                process.kill()

    def _run_process(self) -> None:
        try:
            with subprocess.Popen(
                [sys.executable, "-m", "server.kernels.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as process:
                with self._change:
                    self._processes.append(process)
                    if self._has_ended:
                        process.kill()
                self._feed(process)
            fault = f"it ended with code {process.returncode}" if process.returncode else None
        except OSError as error:  # it could not be started, or died before it could read
            fault = str(error)
        if fault is not None and not self._has_ended:
            logger.warning(
                "kernels are compiled later than at the start, by one process: %s", fault
            )

    def _feed(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        while (work := self._next()) is not None:
            process.stdin.write(json.dumps((*work, work[0] in self._giving_way)) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                if line == "\n":
                    break
                self._tell(line.strip())
            else:
                return  # it died
            with self._change:
                self._unfinished.discard(work[0])
                self._change.notify_all()

    def _next(self) -> tuple[str, Mapping[str, str]] | None:
        with self._change:
            return self._todo.popleft() if self._todo else None

    def _tell(self, kernel: str) -> None:
        with self._change:
            self._num_announced += 1
            line = f"Compiling kernel {self._num_announced} of {self._total}: {kernel}"
        self._announce(line)


def _count_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
