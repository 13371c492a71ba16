"""Device tables: following them is following the matcher, whatever the tokens are."""

from __future__ import annotations

import random

import numpy as np
import pytest

from grammars.compile import compile_grammar
from grammars.device_tables import ENDED, START, DeviceBudget
from grammars.spec import Choice, JsonSchema, Literal, Regex, Structure, TextSpec
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary

FINITE: dict[str, TextSpec] = {
    "choice": Choice(("ab", "abcabc", "true", "é")),
    "regex": Regex("(ab|c)*[0-9]{1,3}é?"),
    "control": Structure(Literal("a<call>true</call>")),
    "object": JsonSchema.from_value(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "maxLength": 4},
                "ab": {"enum": ["ab", "abc", 1, None]},
                "1": {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
            },
            "required": ["ab"],
            "additionalProperties": False,
        }
    ),
    "strings": JsonSchema.from_value({"type": "array", "items": {"type": "string"}}),
}


@pytest.mark.parametrize("name", FINITE)
def test_every_walk_over_the_tables_is_one_of_the_matcher(name):
    vocabulary = tiny_vocabulary()
    grammar = compile_grammar(FINITE[name], vocabulary)
    tables = grammar.device_tables(DeviceBudget())
    assert tables is not None
    for seed in range(20):
        choose = random.Random(seed)
        matcher, state = grammar.matcher(), START
        row = np.zeros(vocabulary.num_words, np.int32)
        for _ in range(40):
            matcher.fill_bitmask(row)
            assert np.array_equal(tables.rows[tables.row_of_state[state]].view(np.int32), row)
            assert tables.is_complete[state] == matcher.is_complete
            token_id = choose.choice(matcher.allowed_token_ids())
            assert matcher.accept_token(token_id)
            state = tables.next_state(state, token_id)
            if token_id in vocabulary.end_token_ids:
                assert state == ENDED
                break
            assert state != ENDED


@pytest.mark.parametrize("name", ["object", "strings"])
def test_tables_over_a_real_vocabulary_lead_where_the_matcher_does(name):
    vocabulary = real_vocabulary("smollm2")
    grammar = compile_grammar(FINITE[name], vocabulary)
    tables = grammar.device_tables(DeviceBudget())
    assert tables is not None
    text = b'{"a":"xyz","ab":"abc","1":[true,false]}' if name == "object" else b'["a b","\\u00e9"]'
    matcher, state = grammar.matcher(), START
    for token_id in vocabulary.encode(text):
        row = tables.rows[tables.row_of_state[state]]
        assert row[token_id >> 5] >> (token_id & 31) & 1
        state = tables.next_state(state, token_id)
        assert matcher.accept_token(token_id)
        bits = np.unpackbits(
            tables.rows[tables.row_of_state[state]].view(np.uint8), bitorder="little"
        )
        assert np.flatnonzero(bits).tolist() == matcher.allowed_token_ids()
    assert tables.is_complete[state]


def test_after_the_end_only_the_end_follows_for_ever():
    vocabulary = tiny_vocabulary()
    tables = compile_grammar(Choice(("ab",)), vocabulary).device_tables(DeviceBudget())
    assert tables is not None
    bits = np.unpackbits(tables.rows[tables.row_of_state[ENDED]].view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == list(vocabulary.end_token_ids)
    assert tables.next_state(ENDED, vocabulary.end_token_ids[0]) == ENDED


@pytest.mark.parametrize(
    ("spec", "budget"),
    [
        (JsonSchema("true"), DeviceBudget(max_states=300)),  # nested without end
        (JsonSchema('{"type": "array", "uniqueItems": true}'), DeviceBudget()),
        (FINITE["object"], DeviceBudget(max_states=10)),
        (FINITE["object"], DeviceBudget(max_bytes=1000)),
    ],
)
def test_what_is_not_finite_within_the_budget_has_no_tables(spec, budget):
    assert compile_grammar(spec, tiny_vocabulary()).device_tables(budget) is None


def test_few_bytes_are_enough_where_most_tokens_lead_to_one_state():
    vocabulary = real_vocabulary("qwen3")
    grammar = compile_grammar(FINITE["strings"], vocabulary)
    tables = grammar.device_tables(DeviceBudget())
    assert tables is not None
    dense = 4 * tables.num_states * vocabulary.padded_size
    assert tables.num_bytes < dense / 10
