"""Rows of any number become the array that numpy would make of them."""

from __future__ import annotations

import numpy as np
import pytest

from grammars.automata import rows
from grammars.automata.rows import take_rows


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 25])
def test_a_list_of_rows_is_an_array_whatever_its_parts(monkeypatch, count):
    monkeypatch.setattr(rows, "_ROWS_AT_ONCE", 10)
    listed = [(i, i * i, -i) for i in range(count)]
    given = listed.copy()
    found = take_rows(given, 3)
    assert found.dtype == np.int32
    assert found.shape == (count, 3)
    assert [tuple(row) for row in found.tolist()] == listed
    assert given == []
