"""Stop strings cut at the first one, whatever way the text comes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.reply.stop_strings import StopStrings


def cut(stops: list[str], pieces: list[str]) -> tuple[str, bool]:
    machine = StopStrings(stops)
    text = "".join(machine.feed(piece) for piece in pieces)
    return text + machine.release(), machine.has_stopped


@pytest.mark.parametrize(
    ("stops", "text", "expected"),
    [
        ([], "abc", ("abc", False)),
        (["###"], "a##b", ("a##b", False)),
        (["###"], "a####", ("a", True)),
        (["\n\n"], "a\nb\n\nc", ("a\nb", True)),
        (["b", "ab"], "xab", ("xa", True)),  # the stop that begins later ends at the same place
        (["abc", "b"], "abc", ("a", True)),  # the one whose end comes first
        (["aab"], "aaab", ("a", True)),
        (["☔"], "x☔y", ("x", True)),
    ],
)
def test_a_text_is_cut_before_its_first_stop_string(stops, text, expected):
    assert cut(stops, [text]) == expected
    assert cut(stops, list(text)) == expected


@given(
    text=st.text("ab", max_size=30),
    stops=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3),
    cuts=st.lists(st.integers(0, 30), max_size=5),
)
def test_any_cut_gives_what_searching_the_whole_text_gives(text, stops, cuts):
    places = sorted({0, len(text), *(min(place, len(text)) for place in cuts)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
    got, has_stopped = cut(stops, pieces)
    assert has_stopped == bool(ends)
    if ends:
        candidates = [
            text[: min(ends) - len(stop)] for stop in stops if text[: min(ends)].endswith(stop)
        ]
        assert got in candidates
    else:
        assert got == text
    assert (got, has_stopped) == cut(stops, [text])


def test_only_what_may_become_a_stop_string_waits():
    machine = StopStrings(["###"])
    assert machine.feed("abc") == "abc"
    assert machine.feed("d##") == "d"
    assert machine.feed("e") == "##e"


def test_a_text_that_nearly_matches_all_the_way_takes_linear_steps():
    text = "a" * 200_000
    assert cut(["a" * 1000 + "b"], [text]) == (text, False)
