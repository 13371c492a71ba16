"""Strings that are read in pieces are the strings that are read whole."""

from __future__ import annotations

import json
from itertools import product

import pytest

from grammars.automata import string_list
from grammars.automata.codepoint_dfa import CodePointDfa, any_string
from grammars.automata.pattern_dfa import search
from grammars.automata.string_list import strings
from grammars.automata.string_rest import ENDED, StringRest, piece_length, string_piece

TEXTS = ["".join(letters) for size in range(6) for letters in product('aé"', repeat=size)]
LISTED = ["", "a", "aa", 'a"é', "é", "éa", "ééa", "ééaa"]


def contents() -> dict[str, CodePointDfa]:
    patterns = ["^a{2,4}$", "^.{0,2}aa.{0,2}$", "é", '^(?:a"|é)*$']
    found = {pattern: search(pattern) for pattern in patterns}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_list, "_NODES_PER_STATE", 0)
        long = strings(LISTED)
    return {**found, "any": any_string(), "listed": strings(LISTED), "a long list": long}


def reads(rest: StringRest, length: int, text: str) -> bool:
    """Whether a text is read, piece by piece."""
    data = json.dumps(text, ensure_ascii=False).encode()
    is_open = False
    while data:
        near = rest.near(length)
        dfa = string_piece(near, length, is_open=is_open, max_states=10_000)
        state, num_read = dfa.start, 0
        while num_read < len(data) and not dfa.label[state]:
            state = dfa.step(state, data[num_read])
            num_read += 1
        if not dfa.label[state]:
            return False
        data = data[num_read:]
        if dfa.label[state] == ENDED:
            return not data
        rest, is_open = rest.after(length)[dfa.label[state] - ENDED - 1], True
    return False


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("bounds", [(0, None), (0, 3), (0, 4)])
@pytest.mark.parametrize("name", contents())
def test_pieces_read_what_the_whole_reads(name, bounds, length):
    content = contents()[name]
    rest = StringRest(content, content.start, *bounds)
    whole = content.with_length(*bounds)
    if not whole.is_empty:
        wrong = [text for text in TEXTS if reads(rest, length, text) != whole.accepts(text)]
        assert wrong == []


@pytest.mark.parametrize("length", [1, 3])
def test_a_least_length_is_kept_where_texts_can_go_on(length):
    rest = StringRest(any_string(), any_string().start, 2, 4)
    assert {len(text) for text in TEXTS if reads(rest, length, text)} == {2, 3, 4}


def test_pieces_far_from_the_bounds_are_the_same():
    far, farther = (StringRest(any_string(), any_string().start, 0, most) for most in (99, 10_000))
    assert far.near(20) == farther.near(20)
    assert far.near(100) != farther.near(100)


def test_a_piece_is_as_long_as_its_states_allow():
    every = any_string()
    short, long = (piece_length(StringRest(every, every.start), size) for size in (100, 1_000))
    assert 1 < short < long
    for length, size in ((short, 100), (long, 1_000)):
        dfa = string_piece(
            StringRest(every, every.start), length, is_open=False, max_states=2 * size
        )
        assert size / 2 < dfa.num_states


def test_strings_that_end_within_a_piece_leave_nothing():
    listed = strings(LISTED)
    rest = StringRest(listed, listed.start)
    assert piece_length(rest, 1_000) == 5  # a character past the longest
    assert rest.after(5) == ()
    assert string_piece(rest, 5, is_open=False, max_states=1_000).label.max() == ENDED
