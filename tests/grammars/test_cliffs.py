"""Cliffs: inputs that cost others seconds or memory without bound; here counted work and bytes."""

from __future__ import annotations

import json
import random
from typing import TypeAlias

import pytest

from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.spec import JsonSchema, PropertyOrder
from tests.support.tokenizers import tiny_vocabulary

RANDOM = random.Random(1)
WORDS = [
    "".join(RANDOM.choices("abcdefghijkl ", k=RANDOM.randrange(5, 20))) for _ in range(100_000)
]
NAMES = ["".join(map(chr, RANDOM.choices(range(0x4E00, 0x57C4), k=5))) for _ in range(20_000)]
OPTIONAL = {f"prop_{number}": {"type": "string"} for number in range(100)}
MANY_KEYS = {f"p{number}": {"type": "integer"} for number in range(10_000)}
MANY_WAYS: dict[str, object] = {
    f"d{i}": {"anyOf": [inner := {"$ref": f"#/$defs/d{i + 1}"}, {"type": "array", "items": inner}]}
    for i in range(14)
} | {"d14": {"type": "null"}}
EVERY_KEY = dict.fromkeys(OPTIONAL, "x")


def tool(number: int) -> dict[str, object]:
    arguments = {f"p{i}_{number}": {"type": "integer"} for i in range(6)}
    return {
        "type": "object",
        "properties": {
            "name": {"const": f"tool_{number}"},
            "arguments": {"type": "object", "properties": arguments, "additionalProperties": False},
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def many_definitions() -> dict[str, object]:
    """As large as a Kubernetes schema: 600 definitions of ten members that refer to each other."""
    definitions = {
        f"d{number}": {
            "type": "object",
            "description": "what it is for " * 10,
            "properties": {
                f"m{i}": {"$ref": f"#/definitions/d{(number * 7 + i) % 600}"}
                if i % 3 == 0
                else {"type": ["string", "integer", "boolean"][i % 3], "description": "x" * 80}
                for i in range(10)
            },
        }
        for number in range(600)
    }
    return {"$ref": "#/definitions/d0", "definitions": definitions}


def two_bounds(key: str, most: int) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": most}, key: {"type": "null"}},
        "required": ["text", key],
        "additionalProperties": False,
    }


Cliff: TypeAlias = tuple[dict[str, object], PropertyOrder, object, int, int]

# name -> schema, order of keys, a document, states at the first mask, MB after the document
CLIFFS: dict[str, Cliff] = {
    "enum of 10,000": ({"enum": WORDS[:10_000]}, "schema", WORDS[777], 2, 40),
    "enum of 100,000": ({"enum": WORDS}, "schema", WORDS[77_777], 3, 40),
    "enum of 100,000 within bounds": (
        {"type": "string", "enum": WORDS, "minLength": 6, "maxLength": 17},
        "schema", next(word for word in WORDS if len(word) == 17), 3, 40,
    ),
    "enum of 100,000 beside a pattern": (
        {"enum": WORDS, "pattern": "^[a-k][^a-c]"},
        "schema", next(word for word in WORDS if word.startswith("kd")), 3, 60,
    ),
    "enum of 20,000": ({"enum": WORDS[:20_000]}, "schema", WORDS[7_777], 3, 24),
    "enum of 20,000 in 2,500 characters": ({"enum": NAMES}, "schema", NAMES[7_777], 3, 40),
    "enum of 100,000 numbered": (
        {"enum": [f"item-{number:06}" for number in range(100_000)]},
        "schema", "item-077777", 2, 48,
    ),
    "10,000 constants": (
        {"prefixItems": [{"const": f"c{number}"} for number in range(10_000)]},
        "schema", [f"c{number}" for number in range(200)], 6, 40,
    ),
    "10,000 numbers": (
        {"prefixItems": [{"const": number} for number in range(10_000)]},
        "schema", list(range(200)), 6, 40,
    ),
    "counts on both sides": (
        {"type": "string", "pattern": "^.{0,200}foo.{0,200}$"},
        "schema", "x" * 200 + "foo" + "é" * 200, 3, 24,
    ),
    "different bounds that meet": (
        {"items": {"anyOf": [two_bounds("a", 30_000), two_bounds("b", 100_000)]}},
        "schema", [{"text": "x" * 2_000, "b": None}], 6, 16,
    ),
    "600 definitions": (many_definitions(), "schema", {"m0": {"m3": {"m1": 1, "m2": True}}}, 6, 24),
    "maxItems 1000": (
        {"type": "array", "items": {"type": "integer"}, "maxItems": 1000},
        "schema", list(range(300)), 4, 16,
    ),
    "maxLength 100,000": (
        {"type": "string", "minLength": 5, "maxLength": 100_000}, "schema", "abcdefg", 2, 1,
    ),
    "100 optional keys": (
        {"type": "object", "properties": OPTIONAL}, "schema", EVERY_KEY, 4, 12,
    ),
    "100 optional keys in any order": (
        {"type": "object", "properties": OPTIONAL}, "any",
        dict.fromkeys([*OPTIONAL][::-1], "x"), 4, 12,
    ),
    "10,000 optional keys": (
        {"type": "object", "properties": MANY_KEYS, "additionalProperties": False},
        "schema", dict.fromkeys([*MANY_KEYS][::50], 1), 4, 25,
    ),
    "10,000 optional keys in any order": (
        {"type": "object", "properties": MANY_KEYS}, "any",
        dict.fromkeys([*MANY_KEYS][::-200], 1), 4, 48,
    ),
    "arrays nested in many ways": (
        {"$ref": "#/$defs/d0", "$defs": MANY_WAYS},
        "schema", json.loads("[" * 14 + "null" + "]" * 14), 5, 4,
    ),
    "a repeat of 1000": ({"type": "string", "pattern": "^[a-z]{1,1000}$"}, "schema", "abc", 2, 2),
    "any repeat of 1000": ({"type": "string", "pattern": "^.{1,1000}$"}, "schema", "aé", 2, 8),
    "300 tools": (
        {"anyOf": [tool(number) for number in range(300)]},
        "schema", {"name": "tool_250", "arguments": {"p0_250": 1, "p5_250": 2}}, 6, 8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLIFFS)
def test_a_cliff_costs_few_states_and_bytes(name):
    schema, order, document, num_states, num_megabytes = CLIFFS[name]
    grammar = compile_grammar(
        JsonSchema(json.dumps(schema), property_order=order), tiny_vocabulary()
    )
    matcher = grammar.matcher()
    assert matcher.allowed_token_ids()
    assert grammar.num_states <= num_states
    for byte in json.dumps(document, ensure_ascii=False).encode():
        assert matcher.accept_token(byte)
    assert matcher.is_complete
    assert grammar.memory_bytes < num_megabytes * 2**20


def test_strings_that_are_large_as_json_alone_are_read_in_pieces():
    """The characters are few states each, their UTF-8 many."""
    schema = {"type": "object", "properties": {"a": {"pattern": r"^[\u0080-\uffff]{40}$"}}}
    limits = CompileLimits(max_states=200)
    grammar = compile_grammar(JsonSchema(json.dumps(schema)), tiny_vocabulary(), limits)
    for size, is_read in ((40, True), (39, False), (41, False)):
        matcher = grammar.matcher()
        text = json.dumps({"a": "é" * size}, ensure_ascii=False)
        assert all(map(matcher.accept_token, text.encode())) is is_read
