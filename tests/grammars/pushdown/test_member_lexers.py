"""Windows on shared lexers: a place in an object reads what a lexer of its own would read."""

from __future__ import annotations

import json
import random

import pytest

from grammars.compile import compile_grammar
from grammars.pushdown import member_lexers
from grammars.pushdown.layout import ALL_LABELS, StateColumn
from grammars.spec import JsonSchema
from tests.support.tokenizers import tiny_vocabulary

MANY = [f"{letter}{number}" for letter in "aé" for number in range(50)]
NAMES = ["a", "ab", "abc", "a,", "1", "12", "é", "éé", 'a"b', "true", "ru"]
SCHEMAS: dict[str, dict[str, object]] = {
    "optional": {"properties": {name: {"type": "integer"} for name in NAMES}},
    "closed": {
        "properties": {name: {"enum": [1, "a"]} for name in NAMES},
        "additionalProperties": False,
    },
    "some required": {
        "properties": {name: {"type": "null"} for name in NAMES},
        "required": ["abc", "éé", "z"],
    },
    "groups": {
        "properties": {"a": True, "b": True},
        "patternProperties": {"^a": {"type": "integer"}, "b$": {"type": "boolean"}},
        "minProperties": 2,
    },
    "either": {
        "anyOf": [
            {"properties": {"a": {"const": 1}, "ab": {"const": 1}, "c": True}, "required": ["ab"]},
            {"properties": {"ab": {"const": 2}, "a": {"const": 1}, "d": True},
             "additionalProperties": False},
        ]
    },
    "many": {"properties": {name: {"type": "null"} for name in MANY}},
    "many, closed, some required": {
        "properties": {name: {"type": "null"} for name in MANY},
        "required": MANY[7::19],
        "additionalProperties": False,
    },
    "many, counted": {
        "properties": {name: {"type": "null"} for name in MANY},
        "minProperties": 2,
        "maxProperties": 3,
    },
    "many, groups": {
        "properties": {name: {"type": "null"} for name in MANY},
        "patternProperties": {"^a": {"type": ["null", "integer"]}, "2$": {"enum": [None, []]}},
    },
    "many, either": {
        "anyOf": [
            {"properties": {name: {"const": 1} for name in MANY}, "required": ["a3"]},
            {"properties": {name: {"type": "integer"} for name in MANY[10:] + NAMES},
             "additionalProperties": {"type": "null"}},
        ]
    },
}  # fmt: skip


def compiled(name: str, **options):
    schema = {"type": "object", **SCHEMAS[name]}
    return compile_grammar(JsonSchema(json.dumps(schema), **options), tiny_vocabulary())


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("whitespace", ["single", "compact"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_those_of_lexers_without_windows(name, whitespace, order, monkeypatch):
    options = {"whitespace": whitespace, "property_order": order}
    windowed = compiled(name, **options)
    with monkeypatch.context() as patch:
        patch.setattr(member_lexers, "MIN_KEYS", 10**6)
        texts = [walk(compiled(name, **options), random.Random(seed)) for seed in range(12)]
    for tokens, masks in texts:
        matcher = windowed.matcher()
        for token_id, mask in zip([*tokens, None], masks, strict=True):
            assert matcher.allowed_token_ids() == mask
            if token_id is not None:
                assert matcher.accept_token(token_id)


def walk(grammar, choose):
    matcher = grammar.matcher()
    tokens: list[int] = []
    masks: list[list[int]] = []
    for _ in range(40):
        masks.append(matcher.allowed_token_ids())
        going_on = [x for x in masks[-1] if x not in tiny_vocabulary().end_token_ids]
        if not going_on:
            return tokens, masks
        tokens.append(choose.choice(going_on))
        assert matcher.accept_token(tokens[-1])
    return tokens, [*masks, matcher.allowed_token_ids()]


def test_all_places_of_an_object_share_one_automaton():
    grammar = compiled("closed", whitespace="compact")
    matcher = grammar.matcher()
    tables, automata = matcher._grammar._tables, set()
    for byte in b'{"a":1,"ab":1,"abc":1,"1":1':
        matcher.allowed_token_ids()
        assert matcher.accept_token(byte)
        row = tables.state_row(matcher._configuration.state)
        if row[StateColumn.WINDOW] != ALL_LABELS:
            automata.add(tables.lexers.locate(row[StateColumn.LEXER_START])[0])
    assert len(automata) == 1
