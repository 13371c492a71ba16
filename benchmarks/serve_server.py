"""A server for the benchmark: one that runs already, or our own on a free port of the loopback."""

from __future__ import annotations

import queue
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from benchmarks.serve_client import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console


class ServerNotFoundError(Exception):
    """There is no server to measure; the message says why."""


@contextmanager
def own_server(
    model: str, arguments: Sequence[str], console: Console
) -> Iterator[tuple[Target, int]]:
    """`tightrope serve MODEL` until the block ends; gives its target and its process id.

    Raises:
        ServerNotFoundError: it did not start.
    """
    command = [sys.executable, "-m", "server.cli", "serve", model, "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  # ours
        told: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reading = threading.Thread(target=_read_lines, args=(process, told))
        reading.start()
        try:
            yield _await_url(told, console), process.pid
        finally:
            process.send_signal(signal.SIGINT)
            reading.join()


def _read_lines(process: subprocess.Popen[str], told: queue.SimpleQueue[str | None]) -> None:
    """Read to the end: a full pipe would block the server."""
    assert process.stderr is not None
    for line in process.stderr:
        told.put(line.rstrip())
    told.put(None)


def _await_url(told: queue.SimpleQueue[str | None], console: Console) -> Target:
    lines: list[str] = []
    while (line := told.get()) is not None:
        console.print(line, markup=False, highlight=False, style="dim")
        lines.append(line)
        if found := re.search(r"Serving (\S+) at (http://\S+/v1)\.", line):
            return Target(found[2], found[1])
    raise ServerNotFoundError("; ".join(lines[-3:]) or "the server ended without a word")


def running_server(url: str, model: str | None, key: str | None) -> Target:
    """The target at a URL; without a model's name the first that it lists.

    Raises:
        ServerNotFoundError: nobody answers there, or it lists no model.
    """
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    base = url.rstrip("/")
    base = base if base.endswith("/v1") else f"{base}/v1"
    if model is None:
        try:
            listed = httpx.get(f"{base}/models", headers=headers, timeout=30).json()["data"]
            model = str(listed[0]["id"])
        except (httpx.HTTPError, ValueError, KeyError, IndexError) as error:
            raise ServerNotFoundError(
                f"{base}/models lists no model ({type(error).__name__}); name one with --model"
            ) from error
    return Target(base, model, key)
