"""What schemas accept and refuse, as whole texts."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from grammars.errors import GrammarError, LimitExceededError, UnsatisfiableError
from grammars.limits import CompileLimits
from grammars.schema.graph import ValueGraph
from grammars.spec import Embed, JsonObject, JsonSchema
from tests.support.grammar_texts import TextJudge

CASES = tomllib.loads((Path(__file__).parents[1] / "data" / "json_schema.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_schema_accepts_exactly_its_documents(case):
    judge = TextJudge(Embed(JsonSchema(case["schema"])))
    assert [text for text in case["accepts"] if not judge.accepts(text)] == []
    assert [text for text in case["rejects"] if judge.accepts(text)] == []


def test_b122_json_object_mode_has_an_object_at_its_root():
    judge = TextJudge(Embed(JsonObject()))
    assert judge.accepts('{"a": [1, {"b": null}]}')
    assert not any(judge.accepts(text) for text in ("[1]", "3", '"x"', "null", ""))


def test_compact_whitespace_allows_none():
    judge = TextJudge(Embed(JsonSchema("true", whitespace="compact")))
    assert judge.accepts('{"a":[1,2]}')
    assert not judge.accepts('{"a": 1}')
    assert not judge.accepts("[1, 2]")


def test_a_long_max_length_costs_no_states():
    judge = TextJudge(Embed(JsonSchema('{"type": "string", "maxLength": 100000}')))
    assert judge.accepts('"' + "x" * 100_000 + '"')
    assert not judge.accepts('"' + "x" * 100_001 + '"')


def test_a_long_chain_of_references_needs_no_recursion():
    definitions = ", ".join(f'"d{i}": {{"$ref": "#/$defs/d{i + 1}"}}' for i in range(5_000))
    schema = f'{{"$defs": {{{definitions}, "d5000": {{"type": "null"}}}}, "$ref": "#/$defs/d0"}}'
    judge = TextJudge(Embed(JsonSchema(schema)))
    assert judge.accepts("null")
    assert not judge.accepts("1")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            '{"properties": {"a": {"not": {"type": "array", "uniqueItems": true}}}}',
            "/properties/a: 'uniqueItems' that must not hold is not supported; "
            "remove it or see docs/json_schema.md",
        ),
        (
            '{"$defs": {"x": {"$dynamicRef": "#a"}}, "items": {"$ref": "#/$defs/x"}}',
            "/$defs/x: $dynamicRef '#a' leads nowhere",
        ),
        (
            '{"$defs": {"x": {"$recursiveRef": 1}}, "items": {"$ref": "#/$defs/x"}}',
            "/$defs/x: $recursiveRef must be a string",
        ),
        (
            '{"$dynamicRef": "other.json#a"}',
            "(root): $dynamicRef 'other.json#a' leaves the document; put the target under $defs",
        ),
        (
            '{"hidden": {"a": {"$dynamicRef": "#x"}, "b": {"$ref": "#/$defs/x"}}, '
            '"$defs": {"x": {"$dynamicAnchor": "x"}}, "items": {"$ref": "#/hidden/a"}}',
            "/hidden/a: a dynamic reference under a keyword that holds no schemas; "
            "put it under $defs",
        ),
        (
            '{"$ref": "https://example.com/schema.json"}',
            "(root): $ref 'https://example.com/schema.json' leaves the document; "
            "put the target under $defs",
        ),
        ('{"$ref": "#/$defs/nope"}', "(root): $ref '#/$defs/nope' leads nowhere"),
        (
            '{"properties": {"a": {"type": "objekt"}}}',
            "/properties/a: 'type' 'objekt' is not a type; "
            "use one of null, boolean, object, array, number, string, integer",
        ),
        ('{"properties": []}', "(root): 'properties' must be an object"),
        ('{"required": "a"}', "(root): 'required' must be an array of strings"),
        ('{"minLength": -1}', "(root): 'minLength' must be a non-negative integer"),
        ('{"minimum": "3"}', "(root): 'minimum' must be a number"),
        ('{"anyOf": []}', "(root): 'anyOf' must be a non-empty array of schemas"),
        ('{"enum": "a"}', "(root): 'enum' must be an array"),
        ('{"enum": []}', "(root): no JSON value satisfies the schema: the root allows nothing"),
        ('{"items": 3}', "/items: a schema must be an object or a boolean, not a number"),
        ("3", "(root): a schema must be an object or a boolean, not a number"),
        (
            '{"oneOf": [{"$ref": "#"}, {"type": "null"}]}',
            "(root): the schema refers to itself without an object or array in between",
        ),
        ('{"not": {}}', "(root): no JSON value satisfies the schema: the root allows nothing"),
        ("false", "(root): no JSON value satisfies the schema: the root allows nothing"),
        (
            '{"type": "object", "properties": {"a": {"type": "string", "minLength": 2, '
            '"maxLength": 1}}, "required": ["a"]}',
            "(root): no JSON value satisfies the schema: the root requires the key 'a', "
            "which allows nothing",
        ),
        (
            '{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}',
            "(root): no JSON value satisfies the schema: the root requires the key 'a', "
            "which requires it again, without end",
        ),
        ('{"type": "string", "const": 3}', "(root): no JSON value satisfies the schema: "
         "the root allows nothing"),
    ],
)  # fmt: skip
def test_a_schema_is_refused_by_name_and_place(schema, message):
    with pytest.raises(GrammarError) as refusal:
        TextJudge(Embed(JsonSchema(schema)))
    assert str(refusal.value) == message


def test_a_schema_that_is_not_json_is_refused():
    with pytest.raises(GrammarError, match=r"^\(root\): the schema is not valid JSON: "):
        TextJudge(Embed(JsonSchema('{"type": ')))


def test_a_limit_is_named():
    limits = CompileLimits(max_schema_nodes=10)
    schema = JsonSchema.from_value({"properties": {f"p{i}": {"const": i} for i in range(20)}})
    with pytest.raises(GrammarError) as refusal:
        TextJudge(Embed(schema), limits=limits)
    assert str(refusal.value) == (
        "the schema needs more than max_schema_nodes=10; simplify it or raise the limit"
    )


def nested_one_of(depth):
    schema: dict[str, object] = {"type": "string"}
    for _ in range(depth):
        other = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
        schema = {"oneOf": [{"properties": {"a": schema}, "required": ["a"]}, other]}
    return schema


def test_deeply_nested_one_of_needs_no_recursion():
    judge = TextJudge(Embed(JsonSchema.from_value({"type": "object", **nested_one_of(100)})))
    assert judge.accepts('{"a": 3}')
    assert not judge.accepts('{"a": 3.5}')


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "minProperties": 10**13},
        {"type": "array", "contains": {"const": 1}, "minContains": 10**13},
        {"type": "array", "contains": {"const": 1}, "minItems": 10**13},
    ],
)
def test_a_search_that_is_surely_too_long_is_refused_without_it(schema):
    limits = CompileLimits(max_places=10**12)  # it would take a year
    with pytest.raises(LimitExceededError, match="max_places"):
        ValueGraph(json.dumps(schema), limits)


@pytest.mark.parametrize(
    ("schema", "refusal"),
    [
        ({"type": "object", "minProperties": 400, "additionalProperties": False},
         UnsatisfiableError),
        ({"type": "object", "minProperties": 400, "propertyNames": {"maxLength": 0}},
         UnsatisfiableError),
        ({"type": "object", "minProperties": 400, "maxProperties": 500}, LimitExceededError),
        ({"type": "array", "contains": False, "minContains": 400}, UnsatisfiableError),
        ({"type": "array", "contains": {"const": 1}, "minContains": 400, "maxItems": 5},
         UnsatisfiableError),
    ],
)  # fmt: skip
def test_how_long_a_search_surely_is_does_not_hide_that_it_finds_nothing(schema, refusal):
    with pytest.raises(refusal):
        ValueGraph(json.dumps(schema), CompileLimits(max_places=100))


@pytest.mark.parametrize(
    ("schema", "limit"),
    [
        ({"contains": {"const": 1}, "minContains": 10**9}, "max_places=50000"),
        ({"allOf": [{"contains": {"const": i}} for i in range(30)]}, "max_witness_sets=64"),
        ({"patternProperties": {f"p{i}": {"minimum": i} for i in range(20)}},
         "max_key_operations=3000"),
        ({"type": "object", "minProperties": 10**9}, "max_places=50000"),
        ({"anyOf": [{"required": [f"k{i}"]} for i in range(1_001)]}, "max_alternatives=1000"),
        (
            {"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]}
                       for i in range(10)]},
            "max_products=512",
        ),
        ({"oneOf": [{"type": "object", "required": [f"k{i}"]} for i in range(1_000)]},
         "max_comparisons=1000000"),
    ],
)  # fmt: skip
def test_what_would_cost_too_much_is_refused_by_a_named_limit(schema, limit):
    with pytest.raises(LimitExceededError, match=limit):
        TextJudge(Embed(JsonSchema.from_value(schema)))


@pytest.mark.parametrize(
    "member",
    [
        {"minProperties": 10**9},
        {"type": ["object", "null"], "minProperties": 10**5},
        {"contains": {"const": 1}, "minContains": 10**9},
        {"anyOf": [{"type": "object", "minProperties": 10**5}, {"type": "object"}]},
    ],
)
def test_a_count_is_refused_at_once_though_a_text_could_go_past_it(member):
    """Else it would be met in the middle of a text: the value may be something without a count."""
    with pytest.raises(LimitExceededError, match="max_places"):
        ValueGraph(json.dumps({"properties": {"a": member}}), CompileLimits())


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "minItems": 10**6, "maxItems": 10**9},
        {"type": "object", "maxProperties": 10**9},
        {
            "type": "object",
            "properties": {f"p{i}": {} for i in range(5_000)},
            "minProperties": 1,
        },
        {"oneOf": [{"const": f"v{i}"} for i in range(300)]},
    ],
)
def test_large_schemas_compile(schema):
    assert not TextJudge(Embed(JsonSchema.from_value(schema))).accepts('"v300"')
