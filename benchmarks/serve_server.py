"""A server for the benchmark: one that runs already, or our own on a free port of the loopback."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
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
        assert process.stderr is not None
        lines = []
        try:
            for line in process.stderr:
                console.print(line.rstrip(), markup=False, highlight=False, style="dim")
                lines.append(line)
                if found := re.search(r"Serving (\S+) at (http://\S+/v1)\.", line):
                    yield Target(found[2], found[1]), process.pid
                    return
            raise ServerNotFoundError("".join(lines[-5:]) or "the server ended without a word")
        finally:
            process.send_signal(signal.SIGINT)
            process.stderr.read()  # until it has ended


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
