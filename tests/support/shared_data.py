"""Data beside the repository, where it exists: tokenizers, recorded requests, hostile inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared_file(name: str) -> Path:
    """The file of this name; skips the test where the data is not there."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip("the shared data is not beside the repository")
    return path
