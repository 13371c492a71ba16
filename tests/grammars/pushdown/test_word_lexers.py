"""The lexer of words is that of the subset construction."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.pushdown.lexers import write_lexer
from grammars.pushdown.terminals import Key, Strings, Word
from grammars.pushdown.word_lexers import MAX_WORD_BYTES, word_lexer
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


@settings(max_examples=200, deadline=None)
@given(terminals=st.lists(TERMINALS, min_size=1, max_size=6))
def test_both_read_the_same_items_and_the_same_beginnings(terminals):
    fast = word_lexer(tuple(terminals))
    if fast is None:
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


@pytest.mark.parametrize(
    "terminals",
    [
        (Word((300,)),),
        (Strings(StringSet(), is_counted=False),),
        (Word((b"a", b"b")),),
        (Word((b"," + b'"x',)), Key(b'"x"', True, b" ")),
        tuple(Word((b"%d" % number * 4,)) for number in range(MAX_WORD_BYTES // 4)),
    ],
)
def test_what_is_no_list_of_words_is_left_to_the_subset_construction(terminals):
    assert word_lexer(terminals) is None
