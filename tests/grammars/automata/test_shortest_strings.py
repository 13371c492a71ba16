"""Strings of a language, the shortest first."""

from __future__ import annotations

import random
from itertools import islice, product

import pytest

from grammars.automata import string_list
from grammars.automata.codepoint_dfa import no_string
from grammars.automata.pattern_dfa import fullmatch
from grammars.automata.shortest_strings import shortest_strings
from grammars.automata.string_list import StringList, strings

RANDOM = random.Random(1)
WORDS = {"".join(RANDOM.choices("abcdé", k=RANDOM.randrange(12))) for _ in range(300)}


def texts_up_to(length: int) -> list[str]:
    return ["".join(text) for size in range(length + 1) for text in product("abc", repeat=size)]


@pytest.mark.parametrize(
    "pattern", ["", "a?b{0,2}", "[abc]{2}|c", "a(b|bc)?c*", "(ab)*c", "a{3}|b+", "(a|b{3}c)[bc]{2}"]
)
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_the_strings_of_a_pattern_come_by_their_lengths(pattern, most):
    content = fullmatch(pattern)
    expected = [text for text in texts_up_to(6) if content.accepts(text)]
    found = list(islice(shortest_strings(content, most), min(most, len(expected))))
    assert list(map(len, found)) == [len(text) for text in expected[: len(found)]]
    assert len({*found}) == len(found) == min(most, len(expected))
    assert all(map(content.accepts, found))


@pytest.mark.parametrize("max_states", [100_000, 20])
def test_the_strings_of_a_list_are_all_there(max_states, monkeypatch):
    monkeypatch.setattr(string_list, "_NODES_PER_STATE", 1)
    content = strings(WORDS, max_states=max_states)
    assert isinstance(content, StringList) is (max_states == 20)
    found = list(shortest_strings(content, 1000))
    assert sorted(found) == sorted(WORDS)
    assert list(map(len, found)) == sorted(map(len, WORDS))


def test_an_empty_language_has_none():
    assert list(shortest_strings(no_string(), 3)) == []


def test_each_beginning_is_gone_on_with_once(monkeypatch):
    """A thousand long words took six seconds: all of them were begun anew for each length."""
    words = ["".join(RANDOM.choices("abcdefgh", k=size)) for size in range(3, 60) for _ in range(9)]
    content = strings(words)
    first, *others = content.edge_lists()
    num_read = 0

    class Counting:
        def __getitem__(self, state: int) -> int:
            nonlocal num_read
            num_read += 1
            return int(first[state])

    kind = type(content)
    monkeypatch.setattr(kind, "edge_lists", lambda _: (Counting(), *others))
    assert len(list(shortest_strings(content, 1000))) == len({*words})
    assert num_read <= 2 * (1 + sum(map(len, words)))
