"""The regex of an interval of integers holds exactly its integers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.backends.integer_regex import integer_regex
from grammars.errors import UnsatisfiableError

INTEGERS = st.integers(-2_000, 2_000)
BOUNDS = INTEGERS | st.none()


@given(BOUNDS, BOUNDS, st.lists(INTEGERS | st.integers(-(10**9), 10**9)))
def test_an_interval_holds_exactly_its_integers(minimum, maximum, values):
    if minimum is not None and maximum is not None and minimum > maximum:
        minimum, maximum = maximum, minimum
    regex = re.compile(integer_regex(minimum, maximum))
    edges = [
        x
        for bound in (minimum, maximum)
        if bound is not None
        for x in (bound - 1, bound, bound + 1)
    ]
    for value in [*values, *edges, 0]:
        inside = (minimum is None or minimum <= value) and (maximum is None or value <= maximum)
        assert bool(regex.fullmatch(str(value))) is inside, value


@pytest.mark.parametrize("text", ["-0", "00", "01", "-01", "", "-", "+1"])
def test_other_spellings_are_left_out(text):
    assert not re.fullmatch(integer_regex(None, None), text)


def test_an_empty_interval_is_refused():
    with pytest.raises(UnsatisfiableError, match=r"no integer is at least 3 and at most 2"):
        integer_regex(3, 2)
