"""The JSON of a benchmark: what it ran on, then what was measured."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.machine import Run


def write_json(path: Path, run: Run, content: Mapping[str, object]) -> None:
    """Write a run and its results; the folder is made where it is missing.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**run, **content}, indent=2) + "\n", encoding="utf-8")
