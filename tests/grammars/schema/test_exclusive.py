"""`oneOf` of many objects: exactly one holds, and what a key tells apart is not compared."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammars.errors import UnsatisfiableError
from grammars.limits import CompileLimits
from grammars.schema.graph import ValueGraph
from grammars.schema.shapes import ShapeAlgebra
from grammars.spec import Embed, JsonSchema
from tests.support.counted_calls import CountedCalls
from tests.support.grammar_texts import TextJudge

KEYS = ("a", "b", "c")
MEMBERS = [True, {"const": 1}, {"enum": [1, 2]}, {"const": "x"}, {"type": "integer"}, False]
OBJECTS = [
    dict(members)
    for size in range(3)
    for keys in combinations(KEYS, size)
    for values in ([1, 1], [2, "x"], ["x", 1])
    for members in [list(zip(keys, values, strict=False))]
]
VALUES: list[object] = [*OBJECTS, [], [1], 1]

branches = st.builds(
    lambda properties, required, rest: {
        "type": ["object", "array"] if rest is None else "object",
        "properties": properties,
        "required": sorted(required),
        "additionalProperties": True if rest is None else rest,
    },
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(MEMBERS), max_size=2),
    st.sets(st.sampled_from(KEYS), max_size=2),
    st.sampled_from([None, True, False, {"type": "integer"}]),
)


unions = st.builds(lambda a, b: {"anyOf": [a, b]}, branches, branches)


@settings(max_examples=120, deadline=None)
@given(schema=st.builds(
    lambda listed: {"oneOf": listed},
    st.lists(st.one_of(branches, unions), min_size=2, max_size=4),
))  # fmt: skip
def test_exactly_one_branch_holds(schema):
    validator = Draft202012Validator(schema)
    valid = [value for value in VALUES if validator.is_valid(value)]
    try:
        judge = TextJudge(Embed(JsonSchema.from_value(schema)))
    except UnsatisfiableError:
        assert not valid
        return
    assert [value for value in VALUES if judge.accepts_in_some_order(value)] == valid


def closed(properties: dict[str, object], *required: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


SIZE = 60
APART = {
    "tags": [closed({"kind": {"const": i}, f"x{i}": {}}, "kind") for i in range(SIZE)],
    "late tags": [closed({"x": {}, "kind": {"const": i}}, "x", "kind") for i in range(SIZE)],
    "open tags": [
        {"type": "object", "properties": {"kind": {"const": i}}, "required": ["kind"]}
        for i in range(SIZE)
    ],
    "own keys": [closed({f"k{i}": {}}, f"k{i}") for i in range(SIZE)],
    "own optional keys": [closed({f"k{i}": {}}) for i in range(SIZE)],
    "own keys beside shared ones": [
        closed({"id": {"type": "string"}, f"k{i}": {}}, "id", f"k{i}") for i in range(SIZE)
    ],
}


@pytest.mark.parametrize("schemas", APART.values(), ids=APART)
def test_branches_that_one_key_tells_apart_are_not_compared_in_pairs(schemas, monkeypatch):
    compared = CountedCalls(monkeypatch, ShapeAlgebra, "intersect_objects")
    ValueGraph(json.dumps({"oneOf": schemas}), CompileLimits())
    assert compared.num_calls <= 8 * SIZE
