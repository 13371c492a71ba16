"""few_texts lists the strings of an automaton where they are few."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.automata.codepoint_dfa import any_string, no_string
from grammars.automata.few_texts import MAX_TEXTS, few_texts
from grammars.automata.pattern_dfa import fullmatch, search
from grammars.automata.string_list import strings

TEXTS = st.text(st.sampled_from('abé\u4e2d"\\\n\U0001f600'), max_size=4)


@given(texts=st.sets(TEXTS, max_size=MAX_TEXTS))
def test_the_strings_of_a_short_list_are_found(texts):
    found = few_texts(strings(texts))
    assert found is not None
    assert sorted(found) == sorted(texts)


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (no_string(), []),
        (fullmatch("[ab]c?"), ["a", "ac", "b", "bc"]),
        (fullmatch("[a-h]"), list("abcdefgh")),
    ],
)
def test_other_automata_are_listed_too(content, texts):
    found = few_texts(content)
    assert found is not None
    assert sorted(found) == texts


@pytest.mark.parametrize(
    "content",
    [
        any_string(),
        search("a"),
        fullmatch("a*"),
        fullmatch("[a-i]"),
        fullmatch("(a|b){6}"),
        strings(map(str, range(MAX_TEXTS + 1))),
        strings(["x" * 1000]),
    ],
)
def test_many_or_long_strings_are_not_few(content):
    assert few_texts(content) is None
