"""Machine code on disk is that of all that a kernel is made of."""

from __future__ import annotations

import importlib
import sys
from textwrap import dedent

import pytest

from grammars.automata.kernel_stamp import _module_stamp
from server.kernels.table import find_missing

TABLE = {"made_of_two_files": {"one": "(int64,)"}}

KERNEL = """
    from typing import NamedTuple

    import numpy as np

    from grammars.automata.kernels import kernel
    from other_file import LENT, helped

    @kernel
    def one(value):
        return helped(value) + LENT_HERE

    LENT_HERE = np.int64(np.sum(LENT))
"""
OTHER = """
    import numpy as np

    from grammars.automata.kernels import helper
    from third_file import THIRD

    LENT = {lent}

    @helper
    def helped(value):
        return {helped}
"""


def load(folder, *, lent="1", helped="value", third="0"):
    """The kernel, in a process that has not loaded it yet."""
    (folder / "other_file.py").write_text(dedent(OTHER).format(lent=lent, helped=helped))
    (folder / "third_file.py").write_text(f"THIRD = {third}\n")
    for name in ("made_of_two_files", "other_file", "third_file"):
        sys.modules.pop(name, None)
    _module_stamp.cache_clear()
    importlib.invalidate_caches()
    return importlib.import_module("made_of_two_files").one


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ({"lent": "1"}, {"lent": "100"}, (2, 101)),
        ({"lent": "np.array([1, 2])"}, {"lent": "np.array([1, 3])"}, (4, 5)),
        ({"helped": "value"}, {"helped": "2 * value"}, (2, 3)),
        ({"helped": "value + THIRD"}, {"helped": "value + THIRD", "third": "7"}, (2, 9)),
    ],
)
def test_a_kernel_is_compiled_anew_when_what_it_imports_changes(
    first, then, expected, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:.")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "made_of_two_files.py").write_text(dedent(KERNEL))
    assert load(tmp_path, **first)(1) == expected[0]
    load(tmp_path, **first)
    assert find_missing(TABLE) == {}
    kernel = load(tmp_path, **then)
    assert find_missing(TABLE) == TABLE
    assert kernel(1) == expected[1]
