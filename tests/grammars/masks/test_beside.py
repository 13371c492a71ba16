"""Walks beside slices: a row made from another state's slice is the row of a whole walk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonSchema
from tests.support.tokenizers import real_vocabulary

if TYPE_CHECKING:
    from grammars.masks.mask_maker import MaskWay
    from grammars.vocabulary import Vocabulary

CASES: dict[str, tuple[Any, str]] = {
    "declared keys among others": (
        {
            "type": "object",
            "properties": {
                key: {"type": "integer"} for key in ("name", "names", "nut", "é", "a b")
            },
        },
        '{"na',
    ),
    "a key that is complete but for its quote": (
        {"type": "object", "properties": {"name": {"type": "null"}, "names": {}}},
        '{"name',
    ),
    "a key past all declared ones": (
        {"type": "object", "properties": {"name": {"type": "null"}}},
        '{"namq',
    ),
    "a list beside any string": (
        {"anyOf": [{"enum": ["red", "redder", 7]}, {"type": "string", "pattern": "^r"}]},
        '"re',
    ),
    "counted strings beside a list": (
        {"anyOf": [{"enum": ["red", "a longer text"]}, {"type": "string", "minLength": 6}]},
        '"a lo',
    ),
    "a string that must not be some": (
        {"type": "string", "not": {"enum": ["abc", "abd", "x"]}, "maxLength": 9},
        '"ab',
    ),
}


def matcher_of(schema: Any, vocabulary: Vocabulary, way: MaskWay):
    tables = AutomatonTables()
    part = Embed(JsonSchema.from_value(schema))
    states = StructuralStates(part, tables, vocabulary, CompileLimits())
    return AutomatonGrammar(tables, states, states.root, vocabulary, way=way).matcher()


@pytest.mark.parametrize("name", CASES)
def test_rows_beside_a_slice_are_those_of_a_walk(name):
    schema, text = CASES[name]
    vocabulary = real_vocabulary("qwen3")
    byte_tokens = {data: token for token, data in vocabulary.token_bytes.items() if len(data) == 1}
    by_walks = matcher_of(schema, vocabulary, "walk")
    rows = []
    for byte in text.encode():
        rows.append(by_walks.allowed_token_ids())
        assert by_walks.accept_token(byte_tokens[bytes((byte,))])
    rows.append(by_walks.allowed_token_ids())
    by_slices = matcher_of(schema, vocabulary, "slices")
    for byte, row in zip(text.encode(), rows, strict=False):
        assert by_slices.allowed_token_ids() == row
        assert by_slices.accept_token(byte_tokens[bytes((byte,))])
    assert by_slices.allowed_token_ids() == rows[-1]
