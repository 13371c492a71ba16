"""Clients for Node: scripts in `node/`, run with what npm has installed beside them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.clients.matrix import Client

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER: Final = Path(__file__).parent / "node"
_NODE: Final = shutil.which("node")


def node_client(name: str) -> Client:
    """A package that npm has installed; skips the module where there is none."""
    package = FOLDER / "node_modules" / name / "package.json"
    if _NODE is None or not package.exists():
        pytest.skip("Node, or its packages, are not there", allow_module_level=True)
    return Client(f"{name} (Node)", json.loads(package.read_text())["version"])


def run_script(name: str, arguments: Sequence[str]) -> Any:
    """Run a script to its end; gives what it has printed, which is JSON."""
    assert _NODE is not None
    run = subprocess.run(
        [_NODE, FOLDER / name, *arguments], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
