"""The lexer of values is that of the subset construction."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.json_number import number_dfa
from grammars.automata.pattern_dfa import search
from grammars.automata.string_list import strings
from grammars.pushdown.lexers import write_lexer
from grammars.pushdown.terminals import Key, Numbers, OtherKey, Strings, Word
from grammars.pushdown.value_lexers import value_lexer
from grammars.schema.plans import AllBut
from grammars.schema.value import StringSet

MAX_STATES = 2000

WORDS = [Word((word,)) for word in (b"null", b"true", b"false", b"{", b"[", b"]")]
NUMBERS = [Numbers(number_dfa()), Numbers(number_dfa(integer=True))]
STRINGS = [
    Strings(StringSet(None), is_counted=False),
    Strings(StringSet(None), is_counted=True),
    Strings(StringSet(None, 2, 5), is_counted=False),
    Strings(StringSet(None), is_counted=False, is_canonical=True),
    Strings(StringSet(strings(["a", "ab", 'q"', "é"])), is_counted=False),
    Strings(StringSet(search("^[a-c]+$")), is_counted=True),
]


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(st.sampled_from(WORDS), unique=True),
    numbers=st.lists(st.sampled_from(NUMBERS), max_size=1),
    texts=st.lists(st.sampled_from(STRINGS), max_size=1),
    order=st.randoms(use_true_random=False),
)
def test_values_are_read_as_the_subset_construction_reads_them(words, numbers, texts, order):
    terminals = [*words, *numbers, *texts]
    order.shuffle(terminals)
    fast = value_lexer(terminals, MAX_STATES)
    if not numbers and not texts:
        assert fast is None
        return
    assert fast is not None
    plain = write_lexer(tuple(terminals), MAX_STATES)
    assert not plain.count_conflict
    pending = [(fast.dfa.start, plain.dfa.start)]
    seen = set(pending)
    for state, plain_state in pending:
        label, plain_label = fast.dfa.label[state], plain.dfa.label[plain_state]
        assert (label == 0) == (plain_label == 0)
        if label:
            assert fast.items[label - 1] == plain.items[plain_label - 1]
        assert fast.dfa.char_boundary[state] == plain.dfa.char_boundary[plain_state]
        for byte in range(256):
            after = fast.dfa.step(state, byte), plain.dfa.step(plain_state, byte)
            assert (after[0] == 0) == (after[1] == 0)
            if after[0] and after not in seen:
                seen.add(after)
                pending.append(after)


@pytest.mark.parametrize(
    ("terminals", "reason"),
    [
        ((STRINGS[0], STRINGS[4]), "both begin with a quote"),
        ((NUMBERS[0], NUMBERS[1]), "both begin with a digit"),
        ((STRINGS[0], Word((b'"a"',))), "the word begins with a quote"),
        ((STRINGS[0], Word((b"tru",), b"e"), Word((b"true",))), "two read alike"),
        ((NUMBERS[0], Key(b'"a"', follows=True, gap=b"")), "a key is no value"),
        ((NUMBERS[0], OtherKey(AllBut(frozenset({"a"})), follows=True, gap=b"")), "nor is another"),
        (tuple(WORDS), "words alone are a trie"),
        ((), "nothing at all"),
    ],
)
def test_what_is_no_list_of_values_is_left_to_others(terminals, reason):
    assert value_lexer(terminals, MAX_STATES) is None, reason
