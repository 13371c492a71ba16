"""A cache of models of each test's own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
