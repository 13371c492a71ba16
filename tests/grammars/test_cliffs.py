"""Cliffs: inputs that cost others seconds or memory without bound; here counted work and bytes."""

from __future__ import annotations

import json
import random
from typing import TypeAlias

import pytest

from grammars.compile import compile_grammar
from grammars.errors import LimitExceededError
from grammars.limits import CompileLimits
from grammars.spec import JsonSchema, PropertyOrder
from tests.support.tokenizers import tiny_vocabulary

RANDOM = random.Random(1)
WORDS = ["".join(RANDOM.choices("abcdefghijkl ", k=RANDOM.randrange(5, 20))) for _ in range(10_000)]
OPTIONAL = {f"prop_{number}": {"type": "string"} for number in range(100)}
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


Cliff: TypeAlias = tuple[dict[str, object], PropertyOrder, object, int, int]

# name -> schema, order of keys, a document, states at the first mask, MB after the document
CLIFFS: dict[str, Cliff] = {
    "enum of 10,000": ({"enum": WORDS}, "schema", WORDS[777], 2, 40),
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


def test_strings_that_are_too_large_as_json_are_refused_before_any_text():
    """The characters are few states each, their UTF-8 many."""
    schema = {"type": "object", "properties": {"a": {"pattern": r"^[\u0080-\uffff]{40}$"}}}
    limits = CompileLimits(max_states=200)
    compile_grammar(JsonSchema(json.dumps(schema)), tiny_vocabulary())
    with pytest.raises(LimitExceededError, match="a JSON string needs more than max_states=200"):
        compile_grammar(JsonSchema(json.dumps(schema)), tiny_vocabulary(), limits)
