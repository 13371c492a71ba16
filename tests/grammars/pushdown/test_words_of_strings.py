"""Alternatives that are a few strings each are read as words: nothing else changes."""

from __future__ import annotations

import json
import random

import pytest

from grammars.compile import compile_grammar
from grammars.pushdown import string_reading
from grammars.spec import JsonSchema
from tests.support.tokenizers import tiny_vocabulary

TEXTS = ["a", "ab", "abc", "", 'a"b', "\\", "a/b", "é", "\x7f", "\u2028", "\n", "😀", "true", "1"]
SCHEMAS: dict[str, dict[str, object]] = {
    "constants": {"anyOf": [{"const": text} for text in TEXTS]},
    "short lists that overlap": {
        "anyOf": [{"enum": TEXTS[i : i + 3], "minLength": i % 2} for i in range(10)]
    },
    "other values beside": {
        "anyOf": [{"enum": ["a", 1, None]}, {"enum": ["ab", 12]}, {"type": "array", "maxItems": 1}]
    },
    "what follows differs": {
        "anyOf": [
            {"type": "array", "prefixItems": [{"const": text}, {"const": i}], "minItems": 2}
            for i, text in enumerate(TEXTS)
        ]
    },
    "tools": {
        "anyOf": [
            {
                "type": "object",
                "properties": {"name": {"const": text}, "value": {"enum": [text, text * 2]}},
                "required": ["name", "value"],
            }
            for text in TEXTS
        ]
    },
    "elements that differ": {
        "type": "array",
        "uniqueItems": True,
        "items": {"anyOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}, {"const": "ab"}]},
    },
    "a pattern beside": {"anyOf": [{"const": "ab"}, {"pattern": "^a*$", "type": "string"}]},
}


def grammar(name, order="schema"):
    return compile_grammar(
        JsonSchema(json.dumps(SCHEMAS[name]), property_order=order), tiny_vocabulary()
    )


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_and_ends_are_those_of_strings(name, order, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(string_reading, "few_texts", lambda _: None)
        strings = grammar(name, order)
        texts = [walk(strings.matcher(), random.Random(seed)) for seed in range(10)]
    words = grammar(name, order)
    for steps in texts:
        matcher = words.matcher()
        for allowed, num_tokens, token in steps:
            assert matcher.allowed_token_ids() == allowed
            assert matcher.min_tokens_to_complete() == num_tokens
            assert matcher.accept_token(token)


def walk(matcher, chance) -> list[tuple[list[int], int, int]]:
    """Random steps of a text: what was allowed, how many tokens were needed, what was taken."""
    steps = []
    for _ in range(40):
        allowed = matcher.allowed_token_ids()
        if not allowed or matcher.is_terminated:
            break
        token = chance.choice(allowed)
        steps.append((allowed, matcher.min_tokens_to_complete(), token))
        matcher.accept_token(token)
    return steps
