"""Data beside the repository, where it exists: tokenizers, recorded requests, hostile inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared_file(name: str) -> Path:
    """The file of this name; skips the test where the data is not there."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip("the shared data is not beside the repository")
    return path


def recorded_requests(name: str) -> list[dict[str, Any]]:
    """What clients sent, a request per line of `wire/NAME`; skips like `shared_file`."""
    lines = shared_file(f"wire/{name}").read_text().splitlines()
    return [json.loads(line) for line in lines]
