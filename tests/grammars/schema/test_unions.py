"""Unions of objects that would be large multiplied out: conditions, tags, exclusive keys."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from grammars.spec import Embed, JsonSchema
from tests.support.grammar_texts import TextJudge


def tagged(tag: str, **others: object) -> dict[str, object]:
    return {"type": "object", "properties": {"kind": {"const": tag}, **others}}


KINDS = [f"k{i}" for i in range(40)]

CONDITIONS = {
    "type": "object",
    "properties": {"kind": {"type": "string"}},
    "allOf": [
        {"if": tagged(kind), "then": {"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]}}
        for i, kind in enumerate(KINDS)
    ],
    "required": ["kind"],
}
TAGGED = {
    "oneOf": [
        tagged(kind, value={"enum": [kind, i]}) | {"required": ["kind"]}
        for i, kind in enumerate(KINDS)
    ]
}
NOT_TAGGED = {"not": TAGGED, "type": "object"}
OPTIONAL_TAGS = {
    "oneOf": [
        tagged(kind, value={"enum": [kind, i]}) | {"additionalProperties": False}
        for i, kind in enumerate(KINDS)
    ]
}
ONE_KEY_OF_MANY = {
    "type": "object",
    "oneOf": [
        {"properties": {kind: {"type": "object", "required": ["x"]}}, "required": [kind]}
        for kind in KINDS[:14]
    ],
}
CHAINED_KEYS = {
    "type": "object",
    "dependentRequired": {f"d{i}": [f"d{i + 1}"] for i in range(12)},
}
SMALL_OBJECTS = {
    "type": "object",
    "maxProperties": 1,
    "oneOf": [{"required": [kind]} for kind in KINDS],
}

VALUES = [
    {},
    {"kind": "k3"},
    {"kind": "k3", "a3": 1},
    {"kind": "k3", "b3": 1},
    {"kind": "k3", "a4": 1},
    {"kind": "other"},
    {"kind": "k3", "value": "k3"},
    {"kind": "k3", "value": 3},
    {"kind": "k3", "value": "k4"},
    {"value": "k3"},
    {"value": "none"},
    {"k3": {"x": 1}},
    {"k3": {}},
    {"k3": {"x": 1}, "k4": {"x": 1}},
    {"k3": {"x": 1}, "k4": {}},
    {"d3": 1},
    {"d11": 1, "d12": 1},
    {"d12": 1},
    [],
    "k3",
]


@pytest.mark.parametrize(
    "schema",
    [
        CONDITIONS, TAGGED, NOT_TAGGED, OPTIONAL_TAGS, ONE_KEY_OF_MANY, CHAINED_KEYS, SMALL_OBJECTS,
        {"not": ONE_KEY_OF_MANY},
    ],
    ids=[
        "conditions", "tags", "not tags", "optional tags", "one key of many", "chained keys",
        "small objects", "not one key of many",
    ],
)  # fmt: skip
def test_a_union_accepts_exactly_its_values(schema):
    judge = TextJudge(Embed(JsonSchema.from_value(schema)))
    validator = Draft202012Validator(schema)
    accepted = [value for value in VALUES if judge.accepts_in_some_order(value)]
    assert accepted == [value for value in VALUES if validator.is_valid(value)]
