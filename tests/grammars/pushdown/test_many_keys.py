"""Objects of more keys than a window has bits: sets of keys, and what spans tell of them."""

from __future__ import annotations

import json
import random
import re

import numpy as np
import pytest

from grammars.automata.dfa import DEAD
from grammars.automata.reach import label_spans, reachable_labels
from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.actions import Dead, Goto
from grammars.pushdown.lexers import lexer_of
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.pushdown.terminals import Key, OtherKey, Word
from grammars.schema.plans import AllBut
from grammars.spec import Embed, JsonSchema, PropertyOrder
from tests.support.tokenizers import tiny_vocabulary

MANY = [f"{letter}{number}" for letter in ("a", "é", '"') for number in range(60)]
KEYS = {name: {"type": "null"} for name in MANY}
SCHEMAS: dict[str, dict[str, object]] = {
    "closed": {"additionalProperties": False},
    "open": {},
    "some required": {"required": MANY[20::50], "additionalProperties": False},
    "counted": {"minProperties": 2, "maxProperties": 5},
    "languages": {
        "patternProperties": {"^x[0-9]{2}$": {"type": "null"}},
        "additionalProperties": False,
    },
}


def grammars(name: str, order: PropertyOrder) -> list[AutomatonGrammar]:
    """The same schema by all ways of making masks."""
    spec = JsonSchema.from_value(
        {"type": "object", "properties": KEYS, **SCHEMAS[name]}, property_order=order
    )
    found = []
    for way in ("reference", "walk", "slices"):
        tables, vocabulary = AutomatonTables(), tiny_vocabulary()
        states = StructuralStates(Embed(spec), tables, vocabulary, CompileLimits())
        distinct = states if states.has_distinct_texts else None
        found.append(
            AutomatonGrammar(tables, states, states.root, vocabulary, way=way, distinct=distinct)
        )
    return found


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_scans_of_the_vocabulary(name, order):
    choose = random.Random(name)
    for _ in range(3):
        indices = [*choose.sample(range(len(MANY)), 1), *range(20, len(MANY), 50)]
        keys = [MANY[i] for i in (sorted(set(indices)) if order == "schema" else indices)]
        text = json.dumps(dict.fromkeys(keys), ensure_ascii=False)
        matchers = [grammar.matcher() for grammar in grammars(name, order)]
        for byte in text.encode():
            expected, *others = [matcher.allowed_token_ids() for matcher in matchers]
            assert all(allowed == expected for allowed in others)
            assert all(matcher.accept_token(byte) for matcher in matchers)
        assert all(matcher.is_complete for matcher in matchers)


def test_declared_keys_are_read_between_those_of_a_language():
    """All of these must differ, so each is looked at byte by byte."""
    keys = [MANY[-1], "x07", MANY[0], "x08", MANY[59]]
    text = json.dumps(dict.fromkeys(keys), ensure_ascii=False)
    for grammar in grammars("languages", "any"):
        matcher = grammar.matcher()
        for byte in text.encode():
            assert byte in matcher.allowed_token_ids()
            assert matcher.accept_token(byte)
        assert matcher.is_complete


@pytest.mark.parametrize("order", ["schema", "any"])
def test_keys_are_read_in_their_order_and_once(order):
    schema = {"type": "object", "properties": KEYS, "additionalProperties": False}
    grammar = compile_grammar(
        JsonSchema.from_value(schema, property_order=order), tiny_vocabulary()
    )
    for keys, is_read in [
        (MANY[3::40], True),
        (MANY[::-1], order == "any"),
        ([MANY[5], MANY[5]], False),
        ([*MANY, MANY[-1]], False),
        (["a"], False),
        ([MANY[4], "b1"], False),
    ]:
        text = "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: null" for key in keys) + "}"
        matcher = grammar.matcher()
        assert all(map(matcher.accept_token, text.encode())) == is_read


def test_spans_are_the_ends_of_what_can_be_reached():
    keys = [Key(json.dumps(name, ensure_ascii=False).encode(), True, b" ") for name in MANY]
    other = OtherKey(AllBut(frozenset(MANY)), True, b" ")
    lexer = lexer_of(
        (Word((b"}",)), other, *sorted(keys, key=lambda x: x.spelling)), 10_000, frozenset()
    )
    dfa = lexer.dfa
    labels: list[set[int]] = [set() for _ in range(dfa.num_states)]
    for _ in range(dfa.num_states):
        before = sum(map(len, labels))
        for state in range(dfa.num_states - 1, 0, -1):
            own = {int(dfa.label[state])} - {0}
            labels[state] |= own.union(*(labels[x] for x in set(dfa.next_state[state]) - {DEAD}))
        if sum(map(len, labels)) == before:
            break
    spans = label_spans(dfa.next_state, dfa.label, 64)
    for state in range(1, dfa.num_states):
        far = [label - 64 for label in labels[state] if label >= 64]
        first, last = spans[state]
        assert (first > last) if not far else ((first, last) == (min(far), max(far)))
    near = reachable_labels(dfa.next_state, dfa.label)
    assert all(near[s] == sum(1 << x - 1 for x in labels[s] if x < 64) for s in range(1, len(near)))


def test_states_may_share_their_actions_and_hide_some_of_them():
    tables = AutomatonTables()
    names = sorted(f"{number:03}" for number in range(200))
    keys = tuple(Key(b'"%s"' % name.encode(), True, b"") for name in names)
    lexer = lexer_of(keys, 10_000, frozenset())
    base = tables.lexers.add_dfa(lexer.dfa)
    tables.lexers.set_reach(base, reachable_labels(lexer.dfa.next_state, lexer.dfa.label))
    tables.lexers.set_far_spans(base, label_spans(lexer.dfa.next_state, lexer.dfa.label, 64))
    visible = [3, 63, 64, 65, 127, 128, 200]
    window = sum(1 << label - 1 for label in visible)
    start = base + lexer.dfa.start
    first = tables.add_state(lexer_start=start, num_labels=200, is_final=False, window=window)
    num_bytes = tables.memory_bytes
    second = tables.add_state(
        lexer_start=start,
        num_labels=200,
        is_final=False,
        window=window ^ (1 << 126),
        shares_actions_of=first,
    )
    assert tables.memory_bytes - num_bytes < 200 * 24
    assert [label for label in range(1, 201) if tables.reads(first, label)] == visible
    for label in visible:
        tables.set_action(first, label, Goto(label))
    assert [tables.action(second, label) for label in visible] == [
        Dead() if label == 127 else Goto(label) for label in visible
    ]
    assert tables.has_action(second, 1)
    assert tables.action(second, 1) == Dead()
    prefix = base + lexer.dfa.run(b',"1')
    assert re.fullmatch(
        "10[0-9].*", " ".join(names[x - 1] for x in tables.lexers.far_labels(prefix))
    )
    assert np.array_equal([*tables.lexers.far_labels(prefix)], np.arange(101, 201))
