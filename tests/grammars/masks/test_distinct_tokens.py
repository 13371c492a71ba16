"""Elements that must differ: masks that count words are those that search byte by byte."""

from __future__ import annotations

import json
import random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.masks.distinct_walk import DistinctWalk
from grammars.masks.reference import ReferenceWalk
from grammars.masks.text_counts import MANY, TextCounts
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonSchema
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.counted_calls import CountedCalls
from tests.support.tokenizers import real_vocabulary

PIECES = (
    *(b'",', b'", "', b'","', b'"]', b'"], ["', b'"],', b", ", b'},{"', b'": "', b'["', b'":'),
    *(
        b"ab",
        b'a"',
        b'ab"',
        b'b",',
        b'"a',
        b'"a"',
        b'"ab',
        b": ",
        b"12",
        b"1,",
        b"]]",
        b'""',
        b", 1",
    ),
)
WORDS = st.text("ab: ", max_size=3)
SCALARS = st.one_of(
    st.lists(st.one_of(WORDS, st.integers(-2, 30)), min_size=1, max_size=8).map(
        lambda values: {"enum": values}
    ),
    st.sampled_from(
        [
            {"type": "string", "pattern": "^[ab]{0,2}$"},
            {"type": "string", "pattern": "^[ab]*$"},
            {"type": "string", "maxLength": 1},
            {"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^[ab]*$"},
            {"enum": ["\u001f", "\u001e", "\n", '"']},
            {"type": "integer", "minimum": 1, "maximum": 12},
            {"type": ["string", "null"]},
        ]
    ),
)
ELEMENTS = st.one_of(
    SCALARS,
    SCALARS.map(lambda items: {"type": "array", "items": items, "maxItems": 2}),
    st.fixed_dictionaries({"a": SCALARS, "b": SCALARS}).map(
        lambda members: {
            "type": "object",
            "properties": members,
            "additionalProperties": False,
        }
    ),
    SCALARS.map(lambda values: {"type": "object", "additionalProperties": values}),
)


def plain_grammar(spec, vocabulary):
    tables = AutomatonTables()
    states = StructuralStates(Embed(spec), tables, vocabulary, CompileLimits())
    distinct = states if states.has_distinct_texts else None
    return AutomatonGrammar(
        tables, states, states.root, vocabulary, way="reference", distinct=distinct
    )


@settings(max_examples=60, deadline=None)
@given(items=ELEMENTS, order=st.sampled_from(["schema", "any"]), seed=st.integers(0, 2**32))
def test_masks_are_those_of_the_search(items, order, seed):
    schema: dict[str, Any] = {"type": "array", "items": items, "uniqueItems": True}
    spec, vocabulary = (
        JsonSchema.from_value(schema, property_order=order),
        byte_vocabulary(pieces=PIECES),
    )
    fast = compile_grammar(spec, vocabulary).matcher()
    plain = plain_grammar(spec, vocabulary).matcher()
    rng, written = random.Random(seed), b""
    for _ in range(30):
        allowed = fast.allowed_token_ids()
        assert allowed == plain.allowed_token_ids(), written
        going_on = [token for token in allowed if token not in vocabulary.end_token_ids]
        if not going_on:
            break
        token = rng.choice(going_on)
        assert fast.accept_token(token)
        assert plain.accept_token(token)
        written += vocabulary.token_bytes.get(token, b"")


@pytest.mark.parametrize(
    ("schema", "num_texts"),
    [
        ({"enum": ["a", "ab", "b"]}, 3),
        ({"enum": ["a", 1, 12, None]}, 4),
        ({"type": "string", "pattern": "^[ab]{0,3}$"}, 15),
        ({"type": "string", "pattern": "^[ab]*$"}, MANY),
        ({"type": "string", "pattern": "^[0-9]{40}$"}, MANY),
        ({"type": "string", "minLength": 2}, 0),
    ],
)
def test_the_texts_of_a_terminal_are_counted(schema, num_texts):
    tables, vocabulary = AutomatonTables(), byte_vocabulary()
    spec = Embed(JsonSchema.from_value(schema))
    states = StructuralStates(spec, tables, vocabulary, CompileLimits())
    start = ReferenceWalk(tables, states, vocabulary).start(states.root)
    assert TextCounts(tables).at(start) == num_texts


@pytest.mark.parametrize(
    ("text", "at_least", "at_most"),
    [(b'"', 90**3, MANY - 1), (b'"' + 48 * b"x", 90, 200), (b'"' + 50 * b"x", 0, 1)],
)
def test_where_characters_are_counted_only_short_texts_are(text, at_least, at_most):
    tables, vocabulary = AutomatonTables(), byte_vocabulary()
    spec = Embed(JsonSchema.from_value({"type": "string", "maxLength": 50}))
    states = StructuralStates(spec, tables, vocabulary, CompileLimits())
    walk = ReferenceWalk(tables, states, vocabulary)
    place = walk.read(walk.start(states.root), text)
    assert place is not None
    assert at_least <= TextCounts(tables).at(place) <= at_most


def test_a_mask_beside_many_words_reads_little(monkeypatch):
    """All reds and greens are written, so that their beginnings lead to nothing new."""
    vocabulary = real_vocabulary("smollm2")
    names = [f"{colour}-{i}" for colour in ("red", "green", "blue") for i in range(60)]
    schema = {"type": "array", "items": {"enum": names}, "uniqueItems": True}
    matcher = compile_grammar(JsonSchema.from_value(schema), vocabulary).matcher()
    for token_id in vocabulary.encode(json.dumps(names[:-1])[:-1].encode() + b', "'):
        assert matcher.accept_token(token_id)
    read = CountedCalls(monkeypatch, DistinctWalk, "read_symbol")
    allowed = {vocabulary.token_bytes[token_id] for token_id in matcher.allowed_token_ids()}
    assert b"blue" in allowed
    assert not {b"red", b"green"} & allowed
    assert read.num_calls < 300
