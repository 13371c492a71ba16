"""A `tightrope serve` of the project's own environment, for clients that live in another one."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PYTHON = str(ROOT / ".venv/bin/python")
MODEL = "served"
"""The name that every client asks for."""


@contextmanager
def serving(model: str, log: Path) -> Iterator[str]:
    """Serve a model on a free port of the loopback; gives the base URL.

    Args:
        model: a folder, or the name of a built-in one.
        log: a new file for what the server writes.
    """
    command = [PYTHON, "-m", "server.cli", "serve", model, "--port", "0", "--served-names", MODEL]
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            command, cwd=ROOT, stderr=stderr, env=os.environ | {"OMP_NUM_THREADS": "1"}
        ) as process,
    ):
        try:
            yield _wait_for_url(process, log)
        finally:
            process.terminate()


def _wait_for_url(process: subprocess.Popen[bytes], log: Path) -> str:
    """The base URL, once it is told."""
    while process.poll() is None:
        told = re.search(r"^Serving \S+ at (\S+)/v1\.", log.read_text(), re.MULTILINE)
        if told is not None:
            return told[1]
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    raise RuntimeError(f"the server has ended:\n{log.read_text()}")


def write_tiny_model(folder: Path) -> None:
    """Write the tests' tiny random model, which needs the project's own environment."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.support.chat_server import TOOL_TEMPLATE\n"
        "from tests.support.tiny_folder import write_tiny_folder\n"
        "write_tiny_folder(Path(sys.argv[1]), context_len=32768, chat_template=TOOL_TEMPLATE)\n"
    )
    subprocess.run([PYTHON, "-c", script, folder], cwd=ROOT, check=True)
