"""Machine code on disk is that of all files that a kernel is made of."""

from __future__ import annotations

import importlib
import sys
from textwrap import dedent

from server.kernels.table import find_missing

TABLE = {"made_of_two_files": {"one": "(int64,)"}}

KERNEL = """
    from pathlib import Path

    from grammars.automata.kernels import kept_on_disk
    from added_number import ADDED

    def add(value):
        return value + ADDED

    one = kept_on_disk(add, {}, [Path(__file__).parent / "added_number.py"])
"""


def load(folder, *, added):
    """The kernel, in a process that has not loaded it yet."""
    (folder / "added_number.py").write_text(f"ADDED = {added}\n")
    for name in ("made_of_two_files", "added_number"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return importlib.import_module("made_of_two_files").one


def test_a_kernel_is_compiled_anew_when_a_file_of_its_helpers_changes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:.")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "made_of_two_files.py").write_text(dedent(KERNEL))
    assert load(tmp_path, added=1)(1) == 2
    assert find_missing(TABLE) == {}
    assert load(tmp_path, added=100)(1) == 101
