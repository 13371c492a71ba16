"""Kernels that are not on disk are compiled by other processes; where that fails, by this one."""

from __future__ import annotations

import importlib
import subprocess
import sys
from textwrap import dedent

import pytest

from server.kernels.precompile import compiling_kernels
from server.kernels.table import find_missing

TYPES = "(int64[::1], int64)"


@pytest.fixture
def make_module(tmp_path, monkeypatch):
    """Writes a module of kernels whose machine code numba keeps beside it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:.")
    made = []

    def make(name, *kernels, header="import numba", cache=True):
        text = [dedent(header)]
        text += [
            f"@numba.njit(cache={cache})\ndef {kernel}(values, i):\n    return values[i] + 1\n"
            for kernel in kernels
        ]
        (tmp_path / f"{name}.py").write_text("\n".join(text))
        made.append(name)
        importlib.invalidate_caches()
        return {name: dict.fromkeys(kernels, TYPES)}

    yield make
    for name in made:
        sys.modules.pop(name, None)


def compile_ahead(table, num_processors=2):
    said: list[str] = []
    with compiling_kernels(table, said.append, num_processors=num_processors) as wait:
        wait(table)
    return said


def test_what_is_not_on_disk_is_compiled_and_then_found_there(make_module):
    table = make_module("some_kernels", "one", "two") | make_module("other_kernels", "three")
    assert find_missing(table) == table
    said = compile_ahead(table)
    assert sorted(line.split(": ")[1] for line in said) == ["one", "three", "two"]
    assert sorted(line.split(": ")[0] for line in said) == [
        f"Compiling kernel {number} of 3" for number in (1, 2, 3)
    ]
    assert find_missing(table) == {}
    assert compile_ahead(table) == []


def test_what_changed_is_compiled_anew(make_module):
    table = make_module("changing_kernels", "one")
    compile_ahead(table)
    assert find_missing(table) == {}
    sys.modules.pop("changing_kernels")
    make_module("changing_kernels", "one", header="import numba  # another time and size")
    assert find_missing(table) == table


def test_one_processor_compiles_nothing_ahead(make_module):
    table = make_module("late_kernels", "one")
    assert compile_ahead(table, num_processors=1) == []
    assert find_missing(table) == table


def test_kernels_that_can_be_kept_nowhere_are_told_and_left_to_their_first_call(
    make_module, caplog
):
    table = make_module("fleeting_kernels", "one", cache=False)
    assert find_missing(table) == {}
    assert compile_ahead(table) == []
    assert "set NUMBA_CACHE_DIR to a folder that can be written" in caplog.text


def test_where_no_folder_can_be_written_kernels_are_kept_nowhere():
    # In a process of its own; without these numba finds no folder.
    script = """
        import numpy as np
        from numba.core import caching
        caching.CacheImpl._locator_classes = []
        from server.kernels.table import KERNELS, find_kept_nowhere
        assert find_kept_nowhere(KERNELS) == [name for one in KERNELS.values() for name in one]
        from engine.device.bitmask_kernel import apply_rows
        from grammars.masks.slices import _set_bits
        row = np.zeros(1, np.uint32)
        _set_bits(row, np.array([0, 5], np.int32))
        logits = np.zeros((1, 32), np.float32)
        apply_rows(logits, row.view(np.int32)[None], np.zeros(1, np.int32))
        assert np.flatnonzero(logits[0] == 0).tolist() == [0, 5]
    """
    subprocess.run([sys.executable, "-c", dedent(script)], check=True)


def test_a_process_that_dies_is_told_and_holds_nobody_up(make_module, caplog):
    # It dies in the worker alone: this process has pytest loaded.
    header = """
        import numba, os, sys
        if "pytest" not in sys.modules:
            os._exit(3)
    """
    table = make_module("deadly_kernels", "one", header=header)
    assert compile_ahead(table) == []
    assert "ended with code 3" in caplog.text


def test_an_error_while_loading_ends_the_processes(make_module, monkeypatch):
    header = """
        import numba, sys, time
        if "pytest" not in sys.modules:
            time.sleep(1000)
    """
    table = make_module("slow_kernels", "one", header=header)
    with (
        pytest.raises(RuntimeError, match="no model"),
        compiling_kernels(table, print, num_processors=2),
    ):
        raise RuntimeError("no model")
