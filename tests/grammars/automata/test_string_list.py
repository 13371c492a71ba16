"""A list of strings accepts exactly these: minimal where it is short, a trie where it is long."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata import string_list
from grammars.automata.edges import edges_of
from grammars.automata.string_list import StringList, strings
from grammars.automata.string_rest import StringRest, piece_length
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.automata.codepoint_dfa import CodePointDfa

texts = st.text(st.sampled_from("\0abé😀\U0010ffff"), max_size=6)
lists = st.lists(texts, max_size=40)


def beginnings(listed: list[str]) -> set[str]:
    return {text[:size] for text in listed for size in range(1, len(text) + 1)}


@given(lists, lists)
@settings(deadline=None)
def test_a_list_is_these_strings_and_minimal(listed, others):
    dfa = strings(listed)
    assert not isinstance(dfa, StringList)
    found = {text for text in {*listed, *others, *beginnings(listed)} if dfa.accepts(text)}
    assert found == set(listed)
    rests = {
        frozenset(text[len(start) :] for text in listed if text.startswith(start))
        for start in {"", *beginnings(listed)}
    }
    assert dfa.num_states == 1 + len(rests - {frozenset()})


@given(lists.filter(bool), lists)
@settings(deadline=None)
def test_a_long_list_is_a_trie(listed, others):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_list, "_NODES_PER_STATE", 0)
        dfa = strings(listed)
    assert isinstance(dfa, StringList)
    assert dfa.num_states == 2 + len(beginnings(listed))
    found = {text for text in {*listed, *others, *beginnings(listed)} if dfa.accepts(text)}
    assert found == set(listed)
    for mine, of_table in zip(dfa.edge_lists(), edges_of(dfa.next_state), strict=True):
        assert mine.tolist() == of_table.tolist()


@given(lists.filter(bool), lists, st.integers(0, 4))
@settings(deadline=None)
def test_the_operations_of_a_long_list_look_at_its_strings(listed, others, length):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_list, "_NODES_PER_STATE", 0)
        long = strings(listed)
    for other in (strings(others), strings(others).complement(), long):
        kept = {text for text in listed if other.accepts(text)}
        assert same(long.intersect(other), kept)
        assert same(long.difference(other), set(listed) - kept)
    assert same(long.with_length(1, length), {text for text in listed if 1 <= len(text) <= length})


def same(dfa: CodePointDfa, texts: Iterable[str]) -> bool:
    expected = strings(texts)
    return dfa.complement().intersect(expected).is_empty and (
        dfa.is_empty or expected.complement().intersect(dfa).is_empty
    )


def test_a_list_of_any_size_is_read():
    """Between what is made minimal and what is surely too large for that was once a gap."""
    source = random.Random(4)
    for size in (10, 100, 300, 3_000):
        listed = ["".join(source.choices("abcdefgh", k=12)) for _ in range(size)]
        dfa = strings(listed, max_states=500)
        assert isinstance(dfa, StringList) is (size >= 100)
        assert all(map(dfa.accepts, listed))


def test_a_list_of_many_characters_takes_no_table():
    """20,000 names in Chinese took 400 MB."""
    source = random.Random(3)
    names = [
        "".join(chr(0x4E00 + source.randrange(2_500)) for _ in range(source.randrange(2, 8)))
        for _ in range(20_000)
    ]
    dfa = strings(names, max_states=100_000)
    assert dfa.num_bytes < 2**21
    assert piece_length(StringRest(dfa, dfa.start), 8_192) == 1


def test_what_is_too_large_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(string_list, "MAX_LIST_CELLS", 100)
    listed = [f"{number}{number}" for number in range(9)]
    dfa = strings(listed, max_states=3)
    with pytest.raises(LimitExceededError, match="a list of 9 strings needs more than max_list_c"):
        dfa.complement()
    with pytest.raises(LimitExceededError, match="a list of 11 strings needs more than max_list_c"):
        strings("abcdefghijk", max_states=3)
