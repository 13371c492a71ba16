"""Closing where elements must differ: the owed ones may have to be longer than the shortest."""

from __future__ import annotations

import random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from grammars.compile import compile_grammar
from grammars.errors import GrammarError, LimitExceededError
from grammars.masks import next_elements
from grammars.spec import JsonSchema
from tests.support.tokenizers import tiny_vocabulary


def unique(items, **keywords):
    return {"type": "array", "items": items, "uniqueItems": True, **keywords}


SCALARS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.lists(
        st.one_of(st.text("abc", max_size=6), st.integers(0, 1300), st.sampled_from([None, True])),
        min_size=5,
        max_size=9,
        unique_by=repr,
    ).map(lambda values: {"enum": values}),
    st.sampled_from(
        [
            {"type": "integer"},
            {"type": "integer", "minimum": 1, "maximum": 12},
            {"type": "number"},
            {"type": "string"},
            {"type": "string", "maxLength": 2},
            {"type": "string", "minLength": 2, "maxLength": 3},
            {"type": "string", "pattern": "^a[ab]{0,2}$"},
            {"type": "string", "pattern": "^abcabc[0-9]{2}$"},
            {"type": ["boolean", "null", "integer"]},
        ]
    ),
)
OBJECTS = st.builds(
    lambda a, b, required: {
        "type": "object",
        "properties": {"a": a, "b": b},
        "required": required,
        "additionalProperties": False,
    },
    SCALARS,
    SCALARS,
    st.sampled_from([["a"], ["a", "b"]]),
)
ELEMENTS = st.one_of(
    SCALARS,
    SCALARS,
    OBJECTS,
    SCALARS.map(lambda items: {"type": "array", "items": items, "maxItems": 2}),
    st.builds(unique, SCALARS, minItems=st.integers(0, 2)),
)
ARRAYS = st.one_of(
    st.builds(unique, ELEMENTS, minItems=st.integers(1, 4)),
    st.builds(unique, SCALARS, minItems=st.integers(2, 4)),
    st.builds(
        lambda scalar, number, least: unique(
            {"anyOf": [scalar, {"type": "integer"}]},
            contains={"type": "integer", "maximum": 30},
            minContains=number,
            minItems=least,
        ),
        SCALARS,
        st.integers(1, 3),
        st.integers(0, 3),
    ),
)
OPEN_OBJECTS = st.builds(
    lambda a, b, required: {
        "type": "object",
        "properties": {"a": a, "b": b},
        "required": required,
    },
    SCALARS,
    ELEMENTS,
    st.sampled_from([[], ["a"], ["a", "b"]]),
)
ALTERNATIVES = st.builds(
    lambda keyword, objects: {keyword: objects},
    st.sampled_from(["anyOf", "oneOf"]),
    st.lists(st.one_of(OBJECTS, OPEN_OBJECTS), min_size=2, max_size=3),
)
SCHEMAS = st.one_of(
    ARRAYS,
    ARRAYS.map(lambda array: {"properties": {"a": array, "b": array}, "required": ["a", "b"]}),
    ALTERNATIVES,
    st.builds(unique, ALTERNATIVES, minItems=st.integers(1, 3)),
)


def allowed(matcher, tokens_left):
    row = np.zeros(tiny_vocabulary().num_words, np.int32)
    matcher.fill_closing_bitmask(row, tokens_left)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def write(schema, seed, num_spare, order="schema"):
    """A text of random tokens of its closing masks; whether it is complete in its budget."""
    choose, vocabulary = random.Random(seed), tiny_vocabulary()
    matcher = compile_grammar(
        JsonSchema.from_value(schema, property_order=order), vocabulary
    ).matcher()
    written = b""
    tokens_left = matcher.min_tokens_to_complete() + num_spare
    while tokens_left > 0 and not matcher.is_terminated:
        needed = matcher.min_tokens_to_complete()
        assert needed <= tokens_left, written
        tokens = allowed(matcher, tokens_left)
        assert tokens, written
        token_id = choose.choice(tokens)
        written += vocabulary.token_bytes.get(token_id, b"")
        assert matcher.accept_token(token_id)
        tokens_left -= 1
    assert matcher.is_complete, written


@settings(max_examples=50, deadline=None)
@given(
    schema=SCHEMAS,
    seed=st.integers(0, 2**32),
    num_spare=st.integers(0, 8),
    order=st.sampled_from(["schema", "any"]),
)
def test_a_text_of_elements_that_must_differ_is_complete_in_its_budget(
    schema, seed, num_spare, order
):
    try:
        spec = JsonSchema.from_value(schema, property_order=order)
        compile_grammar(spec, tiny_vocabulary()).matcher().min_tokens_to_complete()
    except GrammarError:
        return  # refused by name
    for more in range(4):
        write(schema, seed + more, num_spare, order)


@pytest.mark.parametrize(
    ("schema", "promised"),
    [
        (unique({"enum": ["a", "abc"]}, minItems=2), 10),
        (unique({"enum": [0, 1]}, minItems=2), 5),
        (unique({"type": "integer"}, minItems=4), 9),
        (unique({"enum": [1, 11, 111, 1111]}, minItems=4), 16),
        (unique({"type": "array", "items": {"type": "integer"}}, minItems=2), 8),
        (unique({"type": "integer"}, contains={"type": "integer", "minimum": 9}, minContains=2), 6),
    ],
)
def test_the_promise_is_near(schema, promised):
    grammar = compile_grammar(JsonSchema.from_value(schema), tiny_vocabulary())
    assert grammar.matcher().min_tokens_to_complete() == promised


def test_closing_is_refused_where_so_many_elements_are_not_found(monkeypatch):
    monkeypatch.setattr(next_elements, "_MAX_PLACES", 10)
    schema = JsonSchema.from_value(unique({"type": "string"}, minItems=30))
    with pytest.raises(LimitExceededError) as caught:
        compile_grammar(schema, tiny_vocabulary()).matcher().min_tokens_to_complete()
    assert caught.value.limit == "max_closing_states"


def test_closing_goes_on_where_only_another_way_has_too_many_elements(monkeypatch):
    monkeypatch.setattr(next_elements, "_MAX_PLACES", 10)
    many = unique({"type": "string"}, minItems=30)
    schema = {"anyOf": [many, {"type": "array", "items": {"type": "null"}, "minItems": 3}]}
    for seed in range(5):
        write(schema, seed, 3)
