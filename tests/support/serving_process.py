"""A whole server as its users start it: two processes and a tiny model, by `tightrope serve`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
MODEL = "tiny"
START_S = 600
"""The kernels of grammars are compiled at the first start on a machine."""


@dataclass
class ServingProcess:
    """A running server.

    Args:
        process: the server's own.
        url: its base URL.
        log: the lines that it has written so far.
    """

    process: subprocess.Popen[str]
    url: str = ""
    log: list[str] = field(default_factory=list)

    @property
    def engine(self) -> psutil.Process:
        """The engine's process of this moment."""
        (child,) = psutil.Process(self.process.pid).children()
        return child

    @property
    def pids(self) -> tuple[int, int]:
        """Of the server and its engine: unchanged as long as neither was replaced."""
        return self.process.pid, self.engine.pid

    @property
    def rss_mb(self) -> float:
        """Memory of both."""
        return float(sum(psutil.Process(pid).memory_info().rss for pid in self.pids)) / 2**20

    @property
    def written_bytes(self) -> int:
        """What both have written to disks so far."""
        return sum(psutil.Process(pid).io_counters().write_bytes for pid in self.pids)


@contextmanager
def serving_process(
    folder: Path, *options: str, variables: dict[str, str] | None = None
) -> Iterator[ServingProcess]:
    """Serve a model folder on a free port of the loopback.

    Args:
        folder: of the model.
        options: further flags.
        variables: of the environment, beside ours.
    """
    command = [sys.executable, "-m", "server.cli", "serve", str(folder)]
    command += ["--port", "0", "--served-names", MODEL, *options]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=os.environ | {"OMP_NUM_THREADS": "1"} | (variables or {}),
    )
    served = ServingProcess(process)
    listening = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            served.log.append(line)
            found = re.match(r"Serving \S+ at (\S+)/v1\.", line)
            if found is not None:
                served.url = found[1]
                listening.set()
        listening.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        assert listening.wait(START_S), served.log
        assert served.url, served.log
        yield served
    finally:
        process.kill()
        process.wait()
        reader.join(10)
        if process.stderr is not None:
            process.stderr.close()
