"""`uniqueItems`: no element is written twice, and no text runs out of elements that it needs."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import jsonschema
import numpy as np
import pytest

from grammars.compile import compile_grammar
from grammars.errors import GrammarError
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonSchema
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.listed_language import assert_writes_exactly
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary


def unique(**keywords):
    return {"type": "array", "uniqueItems": True, **keywords}


def accepts(schema, text):
    """Whether a text is accepted byte by byte; on the way masks agree with what is accepted."""
    matcher = compile_grammar(JsonSchema.from_value(schema), byte_vocabulary()).matcher()
    for byte in text.encode():
        is_allowed = byte in matcher.allowed_token_ids()
        assert matcher.accept_token(byte) == is_allowed
        if not is_allowed:
            return False
    return matcher.is_complete


NAMED = {"properties": {"n": {"type": "string"}}, "required": ["n"], "type": "object"}


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        (unique(), ["[]", "[1,true]", '[1,"1"]', "[[1],[2]]", "[[],{},null,false]", "[[1,1],[1]]"],
         ["[1,1]", "[1, 1]", "[null,null]", "[[],[]]", "[{},{}]", "[[1, 2],[1,2]]"]),
        (unique(items={"enum": ["a", "b"]}), ['["a"]', '["b","a"]'],
         ['["a","a"]', '["a","b","a"]', '["a","b",']),
        (unique(items={"type": "integer"}), ["[1,12,2]", "[12, 1]", "[-1,1]"],
         ["[1,12,1]", "[12, 12]", "[1,2,3,2]"]),
        (unique(items={"type": "number"}), ["[1,1.5]", "[10,1]"], ["[1,1.0]", "[1.5, 1.5]"]),
        (unique(items={"type": "string"}), ['["a","aa"]', '["é","e"]', r'["\u001f","\u001e"]'],
         ['["a","a"]', r'["\u001f","\u001F"]', '["é","é"]', '["", ""]']),
        (unique(), ['[{"a":1,"b":2},{"b":2,"a":2}]', '[{"a": 1},{"a": 2}]',
                    '[{"a":", "},{"a":","}]'],
         ['[{"a":1,"b":2},{"b":2,"a":1}]', '[{"a": 1},{"a":1}]', '[{"a":1,"a":2}]',
          '[{"k":[{"x":1,"y":2}]},{"k": [{"y":2,"x":1}]}]']),
        (unique(items=NAMED), ['[{"n": "x"}, {"n": "y"}, {"n": "x", "m": 1}]'],
         ['[{"n": "x"}, {"n": "x"}]', '[{"n": "x", "m": 1}, {"n": "x", "m": 1}]']),
        (unique(items=unique(items={"enum": [1, 2]})), ["[[],[1],[2],[1,2],[2,1]]"],
         ["[[1],[1]]", "[[1,1]]", "[[1,2],[1,2]]", "[[],[1],[2],[1,2],[2,1],"]),
        ({"anyOf": [unique(items={"type": "integer"}),
                    {"type": "array", "items": {"enum": [1, "x"]}}]},
         ["[1,1]", '[1,1,"x"]', "[1,2]", "[3,1]", '["x","x"]'],
         ["[1,1,2]", "[2,1,1]", "[2,2]", '[2,"x"]']),
        ({"properties": {"a": unique(items={"type": "boolean"})}},
         ['{"a": [true, false]}', '{"a": [], "b": [1,1]}'],
         ['{"a": [true, true]}', '{"a": [true, false, ']),
        ({"not": {"type": "array", "maxItems": 1}, "type": "array", "uniqueItems": True},
         ["[1,2]"], ["[1,1]", "[1]"]),
    ],
)  # fmt: skip
def test_equal_elements_are_refused_where_they_end(schema, accepted, refused):
    assert [text for text in accepted if not accepts(schema, text)] == []
    assert [text for text in refused if accepts(schema, text)] == []


FINITE: dict[str, Any] = {
    "few": (unique(items={"enum": [1, 12, "a", "ab"]}, maxItems=3), [1, 12, "a", "ab"]),
    "all of them": (unique(items={"enum": [1, 2, 21]}, minItems=3), [1, 2, 21]),
    "tuple": (unique(prefixItems=[{"enum": [1, 2]}, {"const": 1}], items={"enum": [2, 3]},
                     minItems=2), [1, 2, 3]),
    "tight tuple": (unique(prefixItems=[{"enum": [1, 2, 3]}, {"enum": [1, 2]}, {"enum": [1, 2]}],
                           items=False, minItems=3), [1, 2, 3]),
    "wide before narrow": (unique(prefixItems=[{"type": "integer", "minimum": 1, "maximum": 3},
                                               {"const": 2}], items=False, minItems=2), [1, 2, 3]),
    "contains": (unique(items={"enum": [1, 2, 3]}, contains={"enum": [2, 3]}, minContains=2),
                 [1, 2, 3]),
    "alternatives": ({"anyOf": [unique(items={"enum": [1, 2]}, minItems=2),
                                {"type": "array", "items": {"const": 1}, "maxItems": 3}]}, [1, 2]),
    "nested": (unique(items=unique(items={"enum": [1, 2]}), maxItems=2),
               [[], [1], [2], [1, 2], [2, 1]]),
    "objects": (unique(items={"type": "object", "additionalProperties": False,
                              "properties": {"a": {"enum": [1, 2]}, "b": {"const": 1}}},
                       maxItems=2),
                [{}, {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1}]),
}  # fmt: skip


def spellings(document, gap):
    """The ways in which a document may be spaced: a gap or none after each comma and colon."""
    compact = json.dumps(document, separators=(",", ":"))
    places = [i + 1 for i, character in enumerate(compact) if character in ",:"]
    for chosen in itertools.product(("", gap), repeat=len(places)):
        text, last = "", 0
        for place, space in zip(places, chosen, strict=True):
            text += compact[last:place] + space
            last = place
        yield (text + compact[last:]).encode()


@pytest.mark.parametrize("name", FINITE)
def test_a_mask_allows_exactly_what_some_document_goes_on_with(name):
    """Every document is listed, so that dead ends are seen without looking at the automaton."""
    schema, values = FINITE[name]
    validator = jsonschema.Draft202012Validator(schema)
    longest = min(len(values) + 1, 4) if len(values) < 5 else 2
    documents = [
        list(elements)
        for length in range(longest + 1)
        for elements in itertools.product(values, repeat=length)
        if validator.is_valid(list(elements))
    ]
    assert documents
    texts = sorted({text for document in documents for text in spellings(document, " ")})
    grammar = compile_grammar(JsonSchema.from_value(schema), byte_vocabulary())
    assert_writes_exactly(grammar, texts, num_walks=40)


SPECS = {
    "integers": unique(items={"type": "integer", "minimum": 1, "maximum": 30}, minItems=20),
    "strings": unique(items={"type": "string", "pattern": "^[ab]{1,2}$"}, minItems=4),
    "open strings": unique(items={"type": "string", "maxLength": 3}, maxItems=8),
    "flags": unique(items={"type": ["boolean", "null"]}),
    "objects": unique(
        items={
            "type": "object",
            "properties": {"id": {"enum": [1, 2, 12]}, "tag": {"enum": ["x", "xy"]}},
            "required": ["id"],
            "additionalProperties": False,
        },
        maxItems=9,
    ),
    "open objects": unique(
        items={"type": "object", "additionalProperties": {"enum": [0, 1]}}, maxItems=4
    ),
    "nested": unique(items=unique(items={"enum": [1, 2, 3]}, minItems=1), maxItems=6),
    "tuple": unique(
        prefixItems=[{"type": "integer"}, {"enum": [1, 2]}, {"const": 1}],
        items={"type": "integer"},
        minItems=3,
        maxItems=5,
    ),
    "anything": unique(maxItems=6),
    "mixed": {
        "anyOf": [
            unique(items={"enum": ["a", "b", "c"]}, minItems=2),
            {"type": "array", "items": {"enum": ["a", "d"]}, "maxItems": 4},
        ]
    },
    "below": {
        "type": "object",
        "properties": {"tags": unique(items={"type": "string"}, maxItems=4), "n": {"type": "null"}},
        "required": ["tags", "n"],
    },
}


def grammar_of(schema, vocabulary, way):
    tables = AutomatonTables()
    part = Embed(JsonSchema.from_value(schema))
    states = StructuralStates(part, tables, vocabulary, CompileLimits())
    assert states.has_distinct_texts
    return AutomatonGrammar(tables, states, states.root, vocabulary, way=way, distinct=states)


def walk(schema, vocabulary, seed, choose, *, checks=()):
    """The text that a model writes; its masks are compared with the scan at some steps."""
    fast = compile_grammar(JsonSchema.from_value(schema), vocabulary).matcher()
    plain = grammar_of(schema, vocabulary, "reference").matcher() if checks else None
    rng, written = random.Random(seed), b""
    for step in range(2_000):
        if fast.is_terminated:
            return written.decode()
        allowed = fast.allowed_token_ids()
        assert allowed, written
        if plain is not None and step in checks:
            assert allowed == plain.allowed_token_ids(), written
        forced = fast.forced_tokens()
        token = forced[0] if forced and rng.random() < 0.5 else choose(allowed, len(written), rng)
        assert fast.accept_token(token), written
        assert plain is None or plain.accept_token(token)
        written += vocabulary.token_bytes.get(token, b"")
    raise AssertionError(f"the walk did not end: {written!r}")


def hasty(vocabulary):
    """A model that writes what it likes and then closes what it can."""

    def choose(allowed, num_written, rng):
        ends = [token for token in allowed if token in vocabulary.end_token_ids]
        if num_written > 60 and ends:
            return ends[0]
        if num_written > 60:
            closing = [t for t in allowed if vocabulary.token_bytes.get(t, b"")[:1] in b']}",']
            return rng.choice(closing or allowed)
        return rng.choice(allowed)

    return choose


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SPECS)
def test_random_walks_end_in_valid_documents_with_exact_masks(name, seed):
    vocabulary = tiny_vocabulary()
    text = walk(SPECS[name], vocabulary, seed, hasty(vocabulary), checks=range(0, 2_000, 7))
    jsonschema.validate(json.loads(text), SPECS[name])


@pytest.mark.parametrize("tokenizer", ["smollm2", "qwen3"])
@pytest.mark.parametrize("name", SPECS)
def test_masks_are_exact_over_real_tokens(name, tokenizer):
    vocabulary = real_vocabulary(tokenizer)
    is_open = name in ("anything", "open strings", "below", "open objects", "integers")
    checks = () if is_open else (4, 9)
    text = walk(SPECS[name], vocabulary, 1, hasty(vocabulary), checks=checks)
    jsonschema.validate(json.loads(text), SPECS[name])


@pytest.mark.parametrize("wish", [b",", b"1", b'"', b"["])
@pytest.mark.parametrize("name", SPECS)
def test_a_stubborn_model_still_ends_in_a_valid_document(name, wish):
    vocabulary = tiny_vocabulary()

    def choose(allowed, num_written, rng):
        if num_written < 150:
            wished = [t for t in allowed if vocabulary.token_bytes.get(t, b"").startswith(wish)]
            return max(wished or allowed, key=lambda t: len(vocabulary.token_bytes.get(t, b"")))
        return hasty(vocabulary)(allowed, num_written, rng)

    text = walk(SPECS[name], vocabulary, 0, choose)
    jsonschema.validate(json.loads(text), SPECS[name])


@pytest.mark.parametrize("name", SPECS)
def test_rollback_forgets_elements_too(name):
    vocabulary = tiny_vocabulary()
    grammar = compile_grammar(JsonSchema.from_value(SPECS[name]), vocabulary)
    taken: list[int] = []
    rng, matcher = random.Random(3), grammar.matcher()
    for _ in range(60):
        if matcher.is_terminated:
            break
        if taken and rng.random() < 0.3:
            undone = rng.randint(1, len(taken))
            matcher.rollback(undone)
            del taken[-undone:]
            again = grammar.matcher()
            assert all(again.accept_token(token) for token in taken)
            assert matcher.allowed_token_ids() == again.allowed_token_ids()
        taken.append(rng.choice(matcher.allowed_token_ids()))
        assert matcher.accept_token(taken[-1])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (unique(items={"enum": [1, 2]}, minItems=3),
         "(root): no JSON value satisfies the schema: the root allows nothing"),
        (unique(items={"type": "integer", "minimum": 1, "maximum": 9}, minItems=10),
         "(root): no JSON value satisfies the schema: the root allows nothing"),
        (unique(prefixItems=[{"const": 1}, {"const": 1}], minItems=2),
         "(root): no JSON value satisfies the schema: the root allows nothing"),
        (unique(prefixItems=[{"enum": [1, 2]}] * 3, minItems=3),
         "(root): no JSON value satisfies the schema: the root allows nothing"),
        (unique(const=[1, 1.0]),
         "(root): no JSON value satisfies the schema: the root allows nothing"),
        ({"items": {"not": unique()}, "type": "array"},
         "/items: 'uniqueItems' that must not hold is not supported; "
         "remove it or see docs/json_schema.md"),
        (unique(contains={"const": 1}, prefixItems=[{}]),
         "(root): 'uniqueItems' beside 'contains' and a tuple or a second 'contains' is not "
         "supported; remove it or see docs/json_schema.md"),
        (unique(minItems=5_000),
         "an array with 'uniqueItems' and 'minItems' needs more than max_unique_items=4096; "
         "simplify it or raise the limit"),
        ({"uniqueItems": 1}, "(root): 'uniqueItems' must be true or false"),
    ],
)  # fmt: skip
def test_what_cannot_be_unique_is_refused_when_it_is_compiled(schema, message):
    with pytest.raises(GrammarError) as refusal:
        compile_grammar(JsonSchema.from_value(schema), byte_vocabulary())
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"type": "string"}, unique(items={"type": "string"})]},
        {"oneOf": [unique(items={"type": "string"}), unique(items={"type": "integer"})]},
        {"if": {"type": "array"}, "then": {"uniqueItems": True}},
        unique(items={"enum": [1, 2, 3]}, minItems=3),
        unique(items={"type": "string", "format": "uuid"}, minItems=5),
        unique(items={"type": "object", "properties": {"a": {"type": "string"}}}, minItems=3),
        unique(items={"anyOf": [{"type": "null"}, {"enum": [[], {}]}]}, minItems=3),
    ],
)
def test_what_can_be_unique_compiles(schema):
    vocabulary = tiny_vocabulary()
    text = walk(schema, vocabulary, 5, hasty(vocabulary))
    jsonschema.validate(json.loads(text), schema)


@pytest.mark.parametrize("name", [name for name in SPECS if name != "anything"])
def test_a_text_that_has_to_close_does_so_soon(name):
    """How long a text gets is told without what was written before; a few tokens may be missing."""
    vocabulary = tiny_vocabulary()
    matcher = compile_grammar(JsonSchema.from_value(SPECS[name]), vocabulary).matcher()
    rng, written = random.Random(2), b""
    while len(written) < 12 and not matcher.is_complete:
        token = rng.choice(matcher.allowed_token_ids())
        assert matcher.accept_token(token)
        written += vocabulary.token_bytes.get(token, b"")
    row = np.zeros(vocabulary.num_words, np.int32)
    left = matcher.min_tokens_to_complete()
    for _ in range(2 * left + 60):
        if matcher.is_complete:
            break
        left = max(left - 1, 1)
        matcher.fill_closing_bitmask(row, left)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        token = rng.choice(np.flatnonzero(bits).tolist())
        assert matcher.accept_token(token)
        written += vocabulary.token_bytes.get(token, b"")
    jsonschema.validate(json.loads(written), SPECS[name])


def test_a_text_outside_of_unique_arrays_shares_its_masks():
    grammar = compile_grammar(JsonSchema.from_value(SPECS["below"]), tiny_vocabulary())
    rows = []
    for _ in range(2):
        matcher = grammar.matcher()
        for byte in b'{"tags":["a","b"],':
            matcher.accept_token(byte)
        row = np.zeros(tiny_vocabulary().num_words, np.int32)
        matcher.fill_bitmask(row)
        rows.append(matcher.row_id())
    assert rows[0] == rows[1]
