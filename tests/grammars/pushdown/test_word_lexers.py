"""The lexer of words is that of the subset construction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.pattern_dfa import search
from grammars.pushdown.layouts import Closing, spell
from grammars.pushdown.lexers import write_lexer
from grammars.pushdown.terminals import Key, OtherKey, Strings, Terminal, Word
from grammars.pushdown.word_lexers import MAX_WORD_BYTES, member_lexer, word_lexer
from grammars.schema.plans import AllBut
from grammars.schema.value import StringSet

TEXTS = st.sampled_from([b'"a"', b'"ab"', b'"b"', b'"a,b"', b'"\xc3\xa9"', b'""'])
WORDS = st.sampled_from([b"}", b"]", b"null", b"true", b"tru", b",", b"["])
GAPS = st.sampled_from([b"", b" "])
TERMINALS = st.one_of(
    st.builds(lambda word, gap: Word((word,), gap), WORDS, GAPS),
    st.builds(Key, TEXTS, st.booleans(), GAPS),
)


def readings(lexer, text: bytes) -> frozenset[int]:
    label = int(lexer.dfa.label[lexer.dfa.run(text)])
    return frozenset() if label == 0 else lexer.items[label - 1]


def is_alike(terminals) -> bool:
    """Whether all members stand alike, and no word is written with and without a gap."""
    gaps = [x.gap for x in terminals if x.gap or isinstance(x, Key)]
    words = [(type(x), x.spelling if isinstance(x, Key) else x.pieces) for x in set(terminals)]
    places = {(x.follows, x.gap) for x in terminals if isinstance(x, Key)}
    comma = Word((b",",)) in terminals or Word((b",",), b" ") in terminals
    return (
        len(places) <= 1
        and len(set(gaps)) <= 1
        and len(set(words)) == len(words)
        and not (comma and places)
    )


@settings(max_examples=200, deadline=None)
@given(terminals=st.lists(TERMINALS, min_size=1, max_size=6))
def test_both_read_the_same_items_and_the_same_beginnings(terminals):
    fast = word_lexer(tuple(terminals))
    if fast is None:
        assert not is_alike(terminals)
        return
    plain = write_lexer(tuple(terminals), 1000)
    pending = [b""]
    for text in pending:
        assert readings(fast, text) == readings(plain, text)
        for byte in sorted(set(b'",: }]nultrue[ab\xc3\xa9')):
            longer = text + bytes([byte])
            assert bool(fast.dfa.run(longer)) == bool(plain.dfa.run(longer))
            if fast.dfa.run(longer):
                pending.append(longer)


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(TEXTS, min_size=1, unique=True),
    declared=st.sets(st.sampled_from(["a", "ab"])),
    gap=GAPS,
)
def test_the_first_member_begins_in_the_last_state(names, declared, gap):
    keys = [Key(name, True, gap) for name in names]
    others = [OtherKey(AllBut(frozenset({"a", "ab", "b", "a,b", "é", ""})), True, gap)]
    terminals: tuple[Terminal, ...] = (*keys, Word((b"}",)), *(others if declared else []))
    both = word_lexer(terminals, has_first=True)
    first = [replace(x, follows=False) if isinstance(x, (Key, OtherKey)) else x for x in terminals]
    plain = write_lexer(tuple(first), 1000)
    assert both is not None
    dfa = both.dfa
    pending = [(b"", dfa.num_states - 1, plain.dfa.start)]
    seen = set()
    for text, state, plain_state in pending:
        assert int(dfa.label[state] != 0) == int(plain.dfa.label[plain_state] != 0)
        if dfa.label[state]:
            mine, theirs = dfa.label[state], plain.dfa.label[plain_state]
            assert both.items[mine - 1] == plain.items[theirs - 1]
        for byte in range(256):
            after, plain_after = dfa.step(state, byte), plain.dfa.step(plain_state, byte)
            assert (after == 0) == (plain_after == 0)
            if after and (after, plain_after) not in seen:
                seen.add((after, plain_after))
                pending.append((text + bytes([byte]), after, plain_after))


NAMES = ["a", "ab", "b", 'q"', "é", "\\n", "", "a,"]


@settings(max_examples=60, deadline=None)
@given(
    declared=st.sets(st.sampled_from(NAMES), min_size=1),
    read=st.sets(st.sampled_from(NAMES)),
    follows=st.booleans(),
    gap=GAPS,
    may_close=st.booleans(),
)
def test_other_keys_are_all_but_the_declared_ones(declared, read, follows, gap, may_close):
    keys = [Key(spell(name), follows, gap) for name in sorted(declared & read)]
    closing = [Word((b"}",))] if may_close else []
    terminals: tuple[Terminal, ...] = (
        *keys,
        OtherKey(AllBut(frozenset(declared)), follows, gap),
        *closing,
    )
    fast, plain = word_lexer(terminals), write_lexer(terminals, 1000)
    assert fast is not None
    pending, seen = [(b"", fast.dfa.start, plain.dfa.start)], set()
    for text, state, plain_state in pending:
        assert readings(fast, text) == readings(plain, text)
        for byte in range(256):
            after, plain_after = fast.dfa.step(state, byte), plain.dfa.step(plain_state, byte)
            assert (after == 0) == (plain_after == 0)
            if after and (after, plain_after) not in seen:
                seen.add((after, plain_after))
                pending.append((text + bytes([byte]), after, plain_after))


@settings(max_examples=60, deadline=None)
@given(names=st.sets(st.sampled_from(NAMES), min_size=1), is_open=st.booleans(), gap=GAPS)
def test_the_lexer_of_members_is_that_of_their_terminals(names, is_open, gap):
    keys = [*sorted(names), *([AllBut(frozenset(names))] if is_open else [])]
    members = [
        Key(spell(key), True, gap) if isinstance(key, str) else OtherKey(key, True, gap)
        for key in keys
    ]
    fast = member_lexer((*keys, Closing.BRACKET), gap)
    plain = word_lexer((*members, Word((b"}",))), has_first=True)
    assert fast is not None
    assert plain is not None
    assert fast.items == plain.items
    assert np.array_equal(fast.dfa.next_state, plain.dfa.next_state)
    assert np.array_equal(fast.dfa.symbol_class, plain.dfa.symbol_class)
    assert np.array_equal(fast.dfa.label, plain.dfa.label)


def test_keys_of_a_language_are_no_words():
    assert member_lexer((search("^x"), Closing.BRACKET), b" ") is None


@pytest.mark.parametrize(
    "terminals",
    [
        (Word((300,)),),
        (Strings(StringSet(), is_counted=False),),
        (Word((b"a", b"b")),),
        (Word((b'"x"',)), Key(b'"x"', True, b" ")),
        (Key(b'"x"', True, b" "), OtherKey(AllBut(frozenset("a")), True, b" ")),
        (OtherKey(AllBut(frozenset()), True, b" "),),
        tuple(Word((b"%d" % number * 4,)) for number in range(MAX_WORD_BYTES // 4)),
    ],
)
def test_what_is_no_list_of_words_is_left_to_the_subset_construction(terminals):
    assert word_lexer(terminals) is None
