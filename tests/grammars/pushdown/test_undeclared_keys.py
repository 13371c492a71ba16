"""Undeclared keys of several objects, in one lexer: each is all but the words of its own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.compile import compile_grammar
from grammars.pushdown.layouts import spell
from grammars.pushdown.lexers import write_lexer
from grammars.pushdown.terminals import Key, OtherKey, Terminal, Word
from grammars.schema.key_groups import undeclared_keys
from grammars.schema.plans import AllBut
from grammars.spec import JsonSchema
from tests.support.byte_vocabulary import byte_vocabulary

NAMES = ["a", "ab", "b", 'q"', "é", "\\n", "", "a,", "\x7f", "\u2028"]
DECLARED = st.sets(st.sampled_from(NAMES)).map(frozenset)


@settings(max_examples=80, deadline=None)
@given(
    declared=st.lists(DECLARED, min_size=1, max_size=4),
    read=st.sets(st.sampled_from(NAMES)),
    follows=st.booleans(),
    gap=st.sampled_from([b"", b" "]),
)
def test_the_lexer_is_that_of_their_languages_side_by_side(declared, read, follows, gap):
    words: list[Terminal] = [Key(spell(name), follows, gap) for name in sorted(read)]
    words.append(Word((b"}",)))
    others = [OtherKey(AllBut(names), follows, gap) for names in declared]
    languages = [OtherKey(undeclared_keys(names, 1000), follows, gap) for names in declared]
    together = write_lexer((*words, *others), 10_000)
    apart = write_lexer((*words, *languages), 10_000)
    pending, seen = [(together.dfa.start, apart.dfa.start)], set()
    for state, other in pending:
        label, other_label = together.dfa.label[state], apart.dfa.label[other]
        assert (label == 0) == (other_label == 0)
        if label:
            assert together.items[label - 1] == apart.items[other_label - 1]
        for byte in range(256):
            after = together.dfa.step(state, byte), apart.dfa.step(other, byte)
            assert (after[0] == 0) == (after[1] == 0)
            if after[0] and after not in seen:
                seen.add(after)
                pending.append(after)


@pytest.mark.parametrize("order", ["schema", "any"])
def test_hundreds_of_open_objects_may_stand_side_by_side(order):
    objects = [
        {
            "properties": {"kind": {"const": f"t{i}"}, f"own{i}": {"type": "integer"}},
            "required": ["kind"],
        }
        for i in range(900)
    ]
    schema = {"type": "object", "properties": {"a": {"oneOf": objects}}, "required": ["a"]}
    spec = JsonSchema(json.dumps(schema), property_order=order)
    matcher = compile_grammar(spec, byte_vocabulary()).matcher()
    text = '{"a": {"kind": "t77", "own77": 1, "own78": null}}'
    for byte in text.encode():
        assert byte in matcher.allowed_token_ids()
        assert matcher.accept_token(byte)
    assert matcher.is_complete
