"""The hostile inputs beside the repository: requests, texts, bytes on a wire, plans of load."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from typing import Any

import pytest

from tests.support.shared_data import SHARED_DATA, shared_file

CASES = SHARED_DATA / "hostile" / "cases.jsonl"

Entry = dict[str, Any]


@cache
def shared_entries(*kinds: str) -> tuple[Entry, ...]:
    """The cases of these kinds; none where the data is not there."""
    if not CASES.exists():
        return ()
    entries: list[Entry] = [json.loads(line) for line in CASES.read_text().splitlines()]
    return tuple(entry for entry in entries if entry["kind"] in kinds)


def shared_params(*kinds: str, only: str = "", without: str | None = None) -> list[Any]:
    """The same for `pytest.mark.parametrize`: one case that skips where the data is not there.

    Args:
        kinds: of the cases.
        only: how their ids begin.
        without: how they do not.
    """
    found = [
        pytest.param(entry, id=entry["id"], marks=pytest.mark.covers(entry["id"]))
        for entry in shared_entries(*kinds)
        if entry["id"].startswith(only) and not (without and entry["id"].startswith(without))
    ]
    skip = pytest.mark.skip(reason="the shared data is not beside the repository")
    return found or [pytest.param(None, id="no shared data", marks=skip)]


def expand(entry: Entry) -> bytes:
    """The bytes of a case."""
    data: bytes = _materialise()(entry)
    return data


@cache
def _materialise() -> Any:
    spec = importlib.util.spec_from_file_location("expand", shared_file("hostile/expand.py"))
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.materialise
