"""Long lists of strings: masks without pieces are those of walks through all of them."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonSchema
from tests.support.tokenizers import real_vocabulary

RANDOM = random.Random(7)
LETTERS = "abcdefghijklmnop"


def words(count: int, letters: str, longest: int, prefix: str = "") -> list[str]:
    """Different ones, of one character at least."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[prefix + "".join(RANDOM.choices(letters, k=RANDOM.randint(1, longest)))] = None
    return [*found]


LISTS: dict[str, list[str]] = {
    "letters": words(30_000, LETTERS, 30),
    "short": words(30_000, LETTERS, 5),
    "a common beginning": words(20_000, LETTERS, 30, prefix="https://example.com/"),
    "other letters": words(20_000, "абвгдеж日本語中文漢字éü😀🚀", 24),
    "escapes": words(20_000, 'ab"\\\n\x01\x7f/é', 24),
    "sentences": [
        " ".join(RANDOM.choices(["the", "red", "international", "House", "of", "an", "."], k=9))
        for _ in range(20_000)
    ],
}
SCHEMAS = {
    "alone": lambda one: one,
    "in an array": lambda one: {"type": "array", "items": one},
    "beside others": lambda one: {"items": {"anyOf": [one, {"type": ["number", "object"]}]}},
    "as a member": lambda one: {"additionalProperties": one, "type": "object"},
}
WALKS = [(listed, "alone") for listed in LISTS] + [
    (listed, place) for listed in ("letters", "escapes") for place in SCHEMAS if place != "alone"
]


def document(place: str, text: str) -> object:
    return {"alone": text, "as a member": {"a": text}}.get(place, [text, text])


def both_ways(schema: object, vocabulary) -> list[AutomatonGrammar]:
    grammars = []
    for way in ("slices", "walk"):
        tables = AutomatonTables(max_bytes=2**32)
        limits = CompileLimits(max_table_bytes=2**32)
        part = Embed(JsonSchema.from_value(schema))
        states = StructuralStates(part, tables, vocabulary, limits)
        distinct = states if states.has_distinct_texts else None
        grammars.append(
            AutomatonGrammar(tables, states, states.root, vocabulary, way=way, distinct=distinct)
        )
    return grammars


@pytest.mark.parametrize("tokenizer", ["smollm2", "qwen2.5"])
@pytest.mark.parametrize(("listed", "place"), WALKS)
def test_masks_of_a_long_list_are_those_of_a_walk_through_its_pieces(listed, place, tokenizer):
    vocabulary, choose = real_vocabulary(tokenizer), random.Random(3)
    schema = SCHEMAS[place]({"enum": LISTS[listed]})
    text = json.dumps(document(place, choose.choice(LISTS[listed])), ensure_ascii=False)
    matchers = [grammar.matcher() for grammar in both_ways(schema, vocabulary)]
    rows = [np.zeros(vocabulary.num_words, np.int32) for _ in matchers]
    # A walk makes hundreds of pieces for a mask: some are enough.
    token_ids = vocabulary.encode(text.encode())
    for number, token_id in enumerate(token_ids):
        if number < 6 or number > len(token_ids) - 4:
            for matcher, row in zip(matchers, rows, strict=True):
                matcher.fill_bitmask(row)
            assert np.array_equal(rows[0], rows[1])
        assert all(matcher.accept_token(token_id) for matcher in matchers)
    assert all(matcher.is_complete for matcher in matchers)


@pytest.mark.parametrize("listed", LISTS)
def test_the_masks_of_a_text_make_few_pieces(listed):
    vocabulary = real_vocabulary("qwen2.5")
    grammar = compile_grammar(JsonSchema.from_value({"items": {"enum": LISTS[listed]}}), vocabulary)
    matcher, row = grammar.matcher(), np.zeros(vocabulary.num_words, np.int32)
    for token_id in vocabulary.encode(json.dumps(LISTS[listed][7:9], ensure_ascii=False).encode()):
        matcher.fill_bitmask(row)
        assert matcher.accept_token(token_id)
    assert matcher.is_complete
    assert grammar.num_states < 60
