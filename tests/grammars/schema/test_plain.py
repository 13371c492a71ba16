"""Plain schemas, read at a glance, mean what they mean when they are read with care."""

from __future__ import annotations

import itertools
import json
import random
from typing import TYPE_CHECKING

import pytest

from grammars.errors import GrammarError
from grammars.limits import CompileLimits
from grammars.schema.graph import ValueGraph
from grammars.schema.plain import PlainSchemas
from grammars.schema.scalars import ScalarAlgebra

if TYPE_CHECKING:
    from grammars.schema.value import NodeId

BOUNDS = [-(10**15) + 1, -20, -1, 0, 1, 7, 250, 10**15 - 1]
TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"]
FRAGMENTS: dict[str, list[object]] = {
    "type": [*TYPES, ["string", "null"], ["object", "array"], ["integer", "number"], [], "text", 3],
    "enum": [
        ["a"],
        ["a", "b"],
        ["a", None],
        [1],
        [],
        "a",
        ["\ud800"],
        ["a", "a"],
        [1, 1.5, -2],
        [True, None],
        ["a", 3.0, False],
        [1, [1]],
        [4, 10**70],
    ],
    "const": ["a", 1, None, 1.0, True, {}],
    "required": [["a"], ["b"], ["a", "b"], ["a", "a"], True, [1]],
    "minItems": [0, 1, 2, -1, "1", True],
    "maxItems": [0, 1, 1.0],
    "minLength": [0, 2, -1],
    "maxLength": [1, 3, None],
    "format": ["uuid", "date-time", "int32", 4],
    "title": ["a title"],
    "pattern": ["^a"],
    "minimum": [3, 0, 1.5, True, 10**15, "3"],
    "maximum": [3, 1, -1, None],
    "additionalItems": [True, 4],
}

NUMBERS = [b"0", b"1", b"3", b"4", b"-2", b"1.5"]
STRINGS = ["", "a", "b", "ab", "abcd", "1", "12345678-1234-1234-1234-123456789abc"]


def random_schema(rng: random.Random, depth: int) -> object:
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(
            [True, False, {}, {"type": "string"}, {"$ref": "#"}, {"$ref": "#/$defs/d"}]
        )

    def below() -> object:
        return random_schema(rng, depth - 1)

    schema: dict[str, object] = {}
    for keyword in rng.sample(sorted(FRAGMENTS), rng.choice([0, 1, 1, 2, 3])):
        schema[keyword] = rng.choice(FRAGMENTS[keyword])
    if rng.random() < 0.6:
        schema["type"] = rng.choice(["object", "array", ["object", "array"], ["object", "null"]])
    if rng.random() < 0.6:
        names = rng.sample(["a", "b", "c", "\ud800"], rng.choice([1, 2, 2]))
        schema["properties"] = {name: below() for name in names}
    for keyword in ("additionalProperties", "items"):
        if rng.random() < 0.4:
            schema[keyword] = below()
    return schema


def unfolded(graph: ValueGraph, node: NodeId, depth: int) -> object:
    """What a node allows, some levels down, without the numbers of nodes."""
    value = graph.value(node)
    objects = [
        (
            [(key, depth and unfolded(graph, step.node, depth - 1))
             for step in plan.steps(plan.start) if graph.is_productive(step.node)
             for key in (step.key,)],
            plan.may_close(plan.start),
        )
        for plan in map(graph.object_plan, value.objects)
    ]  # fmt: skip
    arrays = [
        (
            [depth and unfolded(graph, step.node, depth - 1)
             for step in plan.steps(plan.start) if graph.is_productive(step.node)],
            plan.may_close(plan.start), array.min_items, array.max_items,
        )
        for array in value.arrays for plan in (graph.array_plan(array),)
    ]  # fmt: skip
    numbers = [text for text in NUMBERS if value.numbers and value.numbers.accepts(text)]
    content = value.strings and graph.string_content(value.strings)
    strings = [text for text in STRINGS if content and content.accepts(text)]
    return value.has_null, value.booleans, numbers, strings, objects, arrays


def meaning(text: str) -> object:
    """What a schema allows, or the kind of its refusal."""
    try:
        graph = ValueGraph(text, CompileLimits())
    except GrammarError as error:
        return type(error)
    return (
        unfolded(graph, graph.root, 3),
        graph.has_unique_arrays,
        graph.has_open_objects,
    )


@pytest.mark.parametrize("seed", range(8))
def test_plain_schemas_mean_what_they_mean_when_read_with_care(seed, monkeypatch):
    rng = random.Random(seed)
    texts = []
    for _ in range(60):
        schema = random_schema(rng, 3)
        if isinstance(schema, dict):
            schema["$defs"] = {"d": random_schema(rng, 1)}
        texts.append(json.dumps(schema))
    at_a_glance = [meaning(text) for text in texts]
    assert sum(not isinstance(found, type) for found in at_a_glance) > 10
    find = PlainSchemas.find

    def only_booleans(self, place):
        return find(self, place) if isinstance(place.schema, bool) else None

    monkeypatch.setattr(PlainSchemas, "find", only_booleans)
    for text, found in zip(texts, at_a_glance, strict=True):
        assert meaning(text) == found, text


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"items": {"properties": {"b": {"type": "text"}}}}, "/items/properties/b"),
        ({"properties": {"a": {"items": {"pattern": "("}}}}, "/properties/a/items"),
        ({"items": {"$ref": "#/$defs/b"}, "$defs": {"b": {"minLength": -1}}}, "/$defs/b"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "/properties/a"),
    ],
)
def test_what_is_wrong_below_plain_schemas_is_found_when_they_are_compiled(schema, pointer):
    with pytest.raises(GrammarError) as error:
        ValueGraph(json.dumps(schema), CompileLimits())
    assert str(error.value).startswith(f"{pointer}:")


def test_only_what_a_text_gets_to_is_evaluated(monkeypatch):
    made: list[tuple[str, ...]] = []
    strings_among = ScalarAlgebra.strings_among

    def watched(self, texts):
        made.append(texts)
        return strings_among(self, texts)

    monkeypatch.setattr(ScalarAlgebra, "strings_among", watched)
    schema = {"properties": {"a": {"enum": ["x"]}, "b": {"items": {"const": "y"}}}}
    graph = ValueGraph(json.dumps(schema), CompileLimits())
    assert made == []
    [shape] = graph.value(graph.root).objects
    graph.value(shape.member("a"))
    assert made == [("x",)]


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_the_automaton_of_any_bounds_is_as_small_as_plain_schemas_take_it_to_be(kind):
    limits = CompileLimits(max_states=480)  # the fewest with which bounds are read at a glance
    for low, high in itertools.combinations(BOUNDS, 2):
        schema = {"type": kind, "minimum": low, "maximum": high}
        graph = ValueGraph(json.dumps(schema), limits)
        assert graph.outline(graph.root) is not None
        numbers = graph.value(graph.root).numbers
        assert numbers is not None
        assert numbers.accepts(str(low).encode())
        assert not numbers.accepts(str(high + 1).encode())
