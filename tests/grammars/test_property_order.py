"""`property_order="any"`: keys in any order, each at most once, everything else exact."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import jsonschema
import numpy as np
import pytest

from grammars.backends.base import BACKEND_NAMES, get_backend
from grammars.compile import compile_grammar
from grammars.errors import BackendError, UnsupportedError
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.masks.distinct_walk import DistinctWalk
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonObject, JsonSchema
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.counted_calls import CountedCalls
from tests.support.listed_language import assert_writes_exactly
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary


def any_order(schema):
    return JsonSchema.from_value(schema, property_order="any")


def accepts(spec, text):
    """Whether a text is accepted byte by byte; on the way masks agree with what is accepted."""
    matcher = compile_grammar(spec, byte_vocabulary()).matcher()
    for byte in text.encode():
        is_allowed = byte in matcher.allowed_token_ids()
        assert matcher.accept_token(byte) == is_allowed
        if not is_allowed:
            return False
    return matcher.is_complete


CLOSED = {"type": "object", "additionalProperties": False}
SCHEMAS: dict[str, Any] = {
    "required": {
        **CLOSED,
        "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}},
        "required": ["c", "a"],
    },
    "counted": {
        **CLOSED,
        "properties": {key: {"const": 1} for key in "abcd"},
        "required": ["d"],
        "minProperties": 2,
        "maxProperties": 3,
    },
    "dependent": {
        **CLOSED,
        "properties": {key: {"const": 1} for key in "abc"},
        "dependentRequired": {"b": ["a"]},
    },
    "tagged": {
        "oneOf": [
            {**CLOSED, "properties": {"k": {"const": 1}, "x": {"const": 1}}, "required": ["k"]},
            {**CLOSED, "properties": {"k": {"const": 2}, "y": {"const": 1}}, "required": ["k"]},
        ]
    },
    "named by a pattern": {
        **CLOSED,
        "properties": {"a": {"const": 1}},
        "patternProperties": {"^[bc]$": {"const": 1}},
        "required": ["a"],
    },
    "some key": {
        "type": "object",
        "properties": {"a": {"enum": [1, 2]}, "b": {"enum": [1, 2]}},
        "propertyNames": {"enum": ["a", "b", "c"]},
        "additionalProperties": {"const": 1},
        "not": {"additionalProperties": {"const": 1}},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_mask_allows_exactly_what_some_document_goes_on_with(name):
    """Every document in every order is listed, so dead ends and lost keys are seen from outside."""
    schema = SCHEMAS[name]
    validator = jsonschema.Draft202012Validator(schema)
    members = [(key, value) for key in "abcdkxy" for value in (1, 2, 3)]
    texts = {
        json.dumps(dict(chosen), separators=(",", ":")).encode()
        for length in range(4)
        for chosen in itertools.permutations(members, length)
        if len(dict(chosen)) == length and validator.is_valid(dict(chosen))
    }
    assert texts
    spec = JsonSchema.from_value(schema, whitespace="compact", property_order="any")
    grammar = compile_grammar(spec, byte_vocabulary())
    assert_writes_exactly(grammar, texts, num_walks=30)


OPEN = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "null"}},
    "required": ["a"],
    "patternProperties": {"^x": {"type": "boolean"}},
}


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        ('{"b": null, "a": 1}', True),
        ('{"z": [], "a": 1, "x1": true, "b": null}', True),
        ('{"b": null}', False),
        ('{"a": 1, "a": 2}', False),
        (r'{"a": 1, "\u0061": 2}', False),
        ('{"z": 1, "z": 2, "a": 1}', False),
        (r'{"z": 1, "\u007a": 2, "a": 1}', False),
        ('{"z": {"a": 1}, "a": {"z": 1}}', False),
        ('{"z": {"q": 1, "q": 1}, "a": 1}', False),
        ('{"x": 1, "a": 1}', False),
    ],
)
def test_keys_in_any_order_are_never_lost_or_doubled(text, is_accepted):
    assert accepts(any_order(OPEN), text) == is_accepted


def test_the_order_of_the_schema_stays_the_default():
    assert not accepts(JsonSchema.from_value(OPEN), '{"b": null, "a": 1}')


def test_an_object_of_any_order_has_no_key_twice():
    spec = JsonObject(property_order="any")
    assert accepts(spec, '{"a": 1, "b": {"a": 1}}')
    assert not accepts(spec, '{"a": 1, "a": 1}')


def closing_token(allowed, vocabulary, rng):
    """What ends the text, or its innermost part."""
    by_bytes = {vocabulary.token_bytes.get(token): token for token in allowed}
    ends = [token for token in allowed if token in vocabulary.end_token_ids]
    wishes = (b'"', b'"', b"}", b"]", b"1", b"a", b",", b":")
    return rng.choice(ends or [by_bytes[wish] for wish in wishes if wish in by_bytes] or allowed)


@pytest.mark.parametrize("schema", [OPEN, SCHEMAS["counted"], SCHEMAS["some key"]])
@pytest.mark.parametrize("vocabulary", ["tiny", "smollm2"])
def test_random_walks_end_in_valid_documents_with_exact_masks(schema, vocabulary):
    tokens = tiny_vocabulary() if vocabulary == "tiny" else real_vocabulary(vocabulary)
    spec, tables = any_order(schema), AutomatonTables()
    states = StructuralStates(Embed(spec), tables, tokens, CompileLimits())
    plain_grammar = AutomatonGrammar(
        tables,
        states,
        states.root,
        tokens,
        way="reference",
        distinct=states if states.has_distinct_texts else None,
    )
    grammar = compile_grammar(spec, tokens)
    for seed in range(4 if vocabulary == "tiny" else 1):
        rng, written = random.Random(seed), b""
        matcher, plain = grammar.matcher(), plain_grammar.matcher()
        for step in range(1_000):
            if matcher.is_terminated:
                break
            allowed = matcher.allowed_token_ids()
            if step % 7 == 2 and step < (100 if vocabulary == "tiny" else 3):
                assert allowed == plain.allowed_token_ids(), written
            token = rng.choice(allowed) if step < 20 else closing_token(allowed, tokens, rng)
            assert matcher.accept_token(token)
            assert plain.accept_token(token)
            written += tokens.token_bytes.get(token, b"")
        jsonschema.validate(json.loads(written), schema)


def test_a_hundred_optional_keys_are_cheap():
    schema = {**CLOSED, "properties": {f"key{i}": {"type": "integer"} for i in range(100)}}
    matcher = compile_grammar(any_order(schema), tiny_vocabulary()).matcher()
    keys = [f"key{i}" for i in range(99, -1, -3)]
    text = json.dumps(dict.fromkeys(keys, 1)).encode()
    for byte in text:
        assert matcher.accept_token(byte)
    assert matcher.is_complete


def test_what_an_object_owes_is_found_among_many_optional_keys():
    """What is owed depends on the keys that are left, not on each set of them."""
    schema = {
        "type": "object",
        "properties": {f"key{i}": {"type": ["integer", "string"]} for i in range(20)},
        "additionalProperties": {"type": "integer"},
        "not": {"patternProperties": {"": {"type": "integer"}}},
    }
    assert accepts(any_order(schema), '{"key7": 1, "key3": "x", "more": 1}')
    assert not accepts(any_order(schema), '{"key7": 1, "key3": 2, "more": 1}')


def test_keys_of_a_few_names_lead_nowhere_else_in_a_vocabulary_without_some_bytes():
    """A key that needs a byte without a token is no key; nothing leads to it."""
    vocabulary = real_vocabulary("smollm2")
    assert vocabulary.missing_bytes
    schema = {"type": "object", "propertyNames": {"enum": ["a", "b"]}}
    for property_order in ("schema", "any"):
        spec = JsonSchema.from_value(schema, property_order=property_order)
        matcher = compile_grammar(spec, vocabulary).matcher()
        assert all(matcher.accept_token(token) for token in vocabulary.encode(b'{"'))
        allowed = {vocabulary.token_bytes[token] for token in matcher.allowed_token_ids()}
        assert allowed == {b"a", b"b"}


@pytest.mark.parametrize("name", [name for name in BACKEND_NAMES if name != "tightrope"])
@pytest.mark.parametrize("spec", [any_order(True), JsonObject(property_order="any")])
def test_other_backends_refuse_keys_in_any_order(name, spec):
    try:
        backend = get_backend(name)
    except BackendError as error:
        pytest.skip(str(error))
    with pytest.raises(UnsupportedError) as refusal:
        backend.compile(spec, byte_vocabulary())
    assert str(refusal.value) == (
        f"(root): property_order 'any' is not enforced by the {name} backend; "
        "use the tightrope backend"
    )


def test_the_look_ahead_of_an_inner_object_does_not_wander_through_the_outer_one(monkeypatch):
    vocabulary = real_vocabulary("smollm2")
    inner = {"type": "object", "additionalProperties": {"type": "string"}}
    schema = {"type": "object", "properties": {"inner": inner}}
    matcher = compile_grammar(
        JsonSchema.from_value(schema, property_order="any"), vocabulary
    ).matcher()
    outer = "".join(f'"{name * 30}": 1, ' for name in "abcdefgh")
    for token_id in vocabulary.encode(f'{{{outer}"inner": {{"x":'.encode()):
        assert matcher.accept_token(token_id)
    read = CountedCalls(monkeypatch, DistinctWalk, "read_symbol")
    matcher.fill_bitmask(np.zeros(vocabulary.num_words, np.int32))
    assert read.num_calls < 5_000  # 430,000 where the outer keys are searched too


UNDECLARED: dict[str, Any] = {
    "any keys": {"type": "object", "minProperties": 3},
    "keys of a pattern": {
        **CLOSED,
        "patternProperties": {"^[a-z]": {"type": "integer"}},
        "minProperties": 3,
        "maxProperties": 4,
    },
    "declared ones too": {"properties": {"a": {"type": "integer"}}, "minProperties": 3},
}


@pytest.mark.parametrize("name", UNDECLARED)
def test_undeclared_keys_count_each_where_none_comes_twice(name):
    spec = any_order(UNDECLARED[name])
    for keys, is_accepted in (
        (["b", "c", "d"], True),
        (["b", "a", "bb"], True),
        (["b", "c"], False),
        (["b", "c", "b"], False),
        (["b", "c", "d", "b"], False),
        (["b", "c", "d", "e"], True),
    ):
        text = "{" + ", ".join(f'"{key}": 1' for key in keys) + "}"
        assert accepts(spec, text) is is_accepted, text


@pytest.mark.parametrize(
    "items",
    [
        {**CLOSED, "properties": {"a": {"enum": [1, 2]}, "b": {"enum": [1, 2]}}},
        {"type": "object", "additionalProperties": {"enum": [1, 2]}, "maxProperties": 2},
    ],
)
def test_elements_that_must_differ_have_their_keys_in_any_order_too(items):
    spec = any_order({"type": "array", "items": items, "uniqueItems": True})
    members = [[], *([pair] for pair in itertools.product("ab", (1, 2)))]
    for first, second in itertools.permutations("ab"):
        members += [[(first, x), (second, y)] for x in (1, 2) for y in (1, 2)]
    random.Random(5).shuffle(members)
    for one, other in itertools.product(members, members[:4]):
        texts = (", ".join(f'"{key}": {value}' for key, value in pairs) for pairs in (one, other))
        text = "[{" + "}, {".join(texts) + "}]"
        assert accepts(spec, text) is (dict(one) != dict(other)), text


def test_elements_that_must_differ_never_run_out_in_any_order():
    """Six objects there are, each with its keys in either order; a text of all of them ends."""
    choose = random.Random(3)
    properties = {"a": {"enum": [1, 2, 3]}, "b": {"enum": [1, 2]}}
    items = {**CLOSED, "properties": properties, "required": ["a", "b"]}
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": 5}
    grammar = compile_grammar(any_order(schema), byte_vocabulary())
    for _ in range(12):
        matcher, text = grammar.matcher(), b""
        while not matcher.is_complete:
            token = choose.choice(matcher.allowed_token_ids())
            assert matcher.accept_token(token)
            text += bytes((token,))
        assert jsonschema.Draft202012Validator(schema).is_valid(json.loads(text))
