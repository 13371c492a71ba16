"""Laws of compiled grammars, token by token: exact masks, no dead ends, valid documents."""

from __future__ import annotations

import json
import random
import tomllib
from decimal import Decimal, InvalidOperation
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.masks.reference import ReferenceWalk
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import (
    Choice,
    Either,
    Embed,
    FreeText,
    JsonSchema,
    Literal,
    Regex,
    Repeat,
    Sequence,
    Structure,
    Tagged,
)
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary

CASES = tomllib.loads((Path(__file__).parents[1] / "data" / "json_schema.toml").read_text())["case"]
VALIDATORS = {
    "draft-04": jsonschema.Draft4Validator,
    "draft-07": jsonschema.Draft7Validator,
    "2020-12": jsonschema.Draft202012Validator,
}
UNIFORM_TOKENS = 60
WISHES = b'""""""}}}}]]]],,,nnaabbcc0123:eluAx-tfs.@'


def uniform_then_closing(matcher, vocabulary, rng):
    """A model that samples uniformly, and after a while takes what tends to close the text."""
    taken = 0

    def choose(allowed):
        nonlocal taken
        taken += 1
        ends = [token for token in allowed if token in vocabulary.end_token_ids]
        if taken > UNIFORM_TOKENS:
            if ends:
                return ends[0]
            by_bytes = {vocabulary.token_bytes.get(token): token for token in allowed}
            for byte in rng.sample(WISHES, len(WISHES)):
                if bytes([byte]) in by_bytes:
                    return by_bytes[bytes([byte])]
        return rng.choice(allowed)

    return run(matcher, vocabulary, choose, max_tokens=3_000)


def run(matcher, vocabulary, choose, *, max_tokens):
    """The text that a model writes under a matcher, None where it did not end in time."""
    row = np.zeros(vocabulary.num_words, np.int32)
    written: list[bytes] = []
    for _ in range(max_tokens):
        if matcher.is_terminated:
            return b"".join(written).decode()
        matcher.fill_bitmask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        assert allowed, "a dead end"
        token = choose(allowed)
        assert matcher.accept_token(token)
        written.append(vocabulary.token_bytes.get(token, b""))
    return None


def exact_json(text):
    """Parsed JSON without floats: integers by value (5.0 is one), other numbers as decimals."""

    def number(spelling):
        try:
            value = Decimal(spelling)
        except InvalidOperation:
            return float(spelling)
        is_small_integer = value.adjusted() < 100 and value == value.to_integral_value()
        return int(value) if is_small_integer else value

    return json.loads(text, parse_float=number)


def walk_cases(case, vocabulary, num_walks):
    grammar = compile_grammar(JsonSchema(case["schema"]), vocabulary)
    schema = exact_json(case["schema"])
    validator = VALIDATORS[case.get("draft", "2020-12")](schema)
    for seed in range(num_walks):
        text = uniform_then_closing(grammar.matcher(), vocabulary, random.Random(seed))
        assert text is not None, "the walk did not end"
        validator.validate(exact_json(text))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_random_walks_end_in_valid_documents(case):
    walk_cases(case, tiny_vocabulary(), num_walks=6)


@pytest.mark.parametrize("name", ["smollm2", "qwen3"])
@pytest.mark.parametrize("case", CASES[::3], ids=[case["name"] for case in CASES[::3]])
def test_random_walks_over_real_tokens_end_in_valid_documents(case, name):
    walk_cases(case, real_vocabulary(name), num_walks=2)


CALL = Sequence(
    (
        Literal('\n{"name": "add", "arguments": '),
        Embed(JsonSchema('{"properties": {"a": {"type": "integer"}}, "required": ["a"]}')),
        Literal("}\n</call>"),
    )
)
SPECS = {
    "recursive": JsonSchema(
        '{"type": "object", "properties": {"name": {"type": "string"}, "kids": {"type": "array", '
        '"items": {"$ref": "#"}}}, "required": ["name"]}'
    ),
    "strings": JsonSchema(
        '{"type": "array", "items": {"anyOf": [{"type": "string", "maxLength": 5}, '
        '{"type": "string", "pattern": "^[a-z]{2,4}-\\\\d+$"}, {"type": "null"}]}}'
    ),
    "counted": JsonSchema('{"type": "string", "minLength": 3, "maxLength": 20}'),
    "anything": JsonSchema("true"),
    "regex": Regex(r"(\d{3}-)?[a-zé]+(, \p{Lu}+)*"),
    "choice": Choice(("yes", "no", "yes, but no")),
    "calls": Structure(FreeText(tags=(Tagged("<call>", CALL),), max_tags=2)),
    "required calls": Structure(
        Either((Embed(JsonSchema("true")), Repeat(Sequence((Literal("<call>"), CALL)), 1, 3)))
    ),
}


def allowed_by_scan(spec, vocabulary):
    """The plain reference over tables of its own: nothing is shared with the grammar under test."""
    tables = AutomatonTables()
    part = spec.root if isinstance(spec, Structure) else Embed(spec)
    states = StructuralStates(part, tables, vocabulary, CompileLimits())
    return ReferenceWalk(tables, states, vocabulary), states.root


def check_masks(spec, vocabulary, *, num_walks, num_tokens, scan_every):
    grammar = compile_grammar(spec, vocabulary)
    walk, root = allowed_by_scan(spec, vocabulary)
    row = np.zeros(vocabulary.num_words, np.int32)
    controls = {control.token_id for control in vocabulary.controls}
    for seed in range(num_walks):
        rng = random.Random(seed)
        matcher, configuration = grammar.matcher(), walk.start(root)
        for step in range(num_tokens):
            if matcher.is_terminated:
                break
            matcher.fill_bitmask(row)
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")
            allowed = np.flatnonzero(bits).tolist()
            assert allowed, "a dead end"
            if (step + seed) % scan_every == 0:
                assert allowed == walk.allowed_token_ids(configuration)
                assert matcher.is_complete == walk.is_complete(configuration)
                if not isinstance(spec, Structure):
                    named = controls & set(allowed)
                    assert named <= set(vocabulary.end_token_ids)
            token = rng.choice(allowed)
            assert matcher.accept_token(token)
            if token not in vocabulary.end_token_ids:
                configuration = walk.read(configuration, walk.token_symbols(token))


@pytest.mark.parametrize("name", SPECS)
def test_a_mask_is_a_scan_of_the_vocabulary(name):
    check_masks(SPECS[name], tiny_vocabulary(), num_walks=25, num_tokens=40, scan_every=1)


@pytest.mark.parametrize("tokenizer", ["smollm2", "qwen3"])
@pytest.mark.parametrize("name", SPECS)
def test_a_mask_is_a_scan_of_a_real_vocabulary(name, tokenizer):
    vocabulary = real_vocabulary(tokenizer)
    check_masks(SPECS[name], vocabulary, num_walks=1, num_tokens=21, scan_every=10)


STUBBORN = {
    "whitespace": lambda data: data.isspace(),
    "angle brackets": lambda data: data.startswith(b"<"),
    "digits": lambda data: data.isdigit(),
    "quotes": lambda data: data.startswith(b'"'),
    "nesting": lambda data: data[:1] in b"[{" and bool(data),
}
BOUNDED = JsonSchema.from_value(
    {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 12},
            "rows": {
                "type": "array",
                "maxItems": 4,
                "items": {
                    "type": "object",
                    "properties": {
                        "kind": {"enum": ["a b", "c"]},
                        "size": {"type": "integer", "minimum": -9, "maximum": 99},
                    },
                    "required": ["kind"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["title", "rows"],
        "additionalProperties": False,
    }
)


@pytest.mark.parametrize("wish", STUBBORN)
@pytest.mark.parametrize("vocabulary", [tiny_vocabulary(), "smollm2"], ids=["tiny", "smollm2"])
def test_b087_a_stubborn_model_still_ends_in_a_valid_document(wish, vocabulary):
    if isinstance(vocabulary, str):
        vocabulary = real_vocabulary(vocabulary)
    matcher = compile_grammar(BOUNDED, vocabulary).matcher()

    def choose(allowed):
        texts = {token: vocabulary.token_bytes.get(token, b"") for token in allowed}
        wished = [token for token, data in texts.items() if STUBBORN[wish](data)]
        return max(wished or allowed, key=lambda token: len(texts[token]))

    text = run(matcher, vocabulary, choose, max_tokens=400)
    assert text is not None
    jsonschema.validate(json.loads(text), json.loads(BOUNDED.text))


def test_a_model_that_wants_to_end_does_so_at_the_first_whole_document():
    vocabulary = tiny_vocabulary()
    matcher = compile_grammar(BOUNDED, vocabulary).matcher()
    text = run(matcher, vocabulary, max, max_tokens=400)  # the highest ids are the end tokens
    assert text is not None
    jsonschema.validate(json.loads(text), json.loads(BOUNDED.text))


def test_b077_a_text_that_cannot_go_on_is_terminated_without_an_end_token():
    vocabulary = tiny_vocabulary()
    matcher = compile_grammar(JsonSchema('{"type": "boolean"}'), vocabulary).matcher()
    for byte in b"true":
        assert not matcher.is_terminated
        assert matcher.accept_token(byte)
    assert matcher.is_complete
    assert matcher.is_terminated


def test_forced_text_is_found_where_there_is_no_choice():
    vocabulary = real_vocabulary("qwen3")
    schema = {"type": "object", "properties": {"temperature": {"type": "integer"}},
              "required": ["temperature"], "additionalProperties": False}  # fmt: skip
    matcher = compile_grammar(
        JsonSchema.from_value(schema, whitespace="compact"), vocabulary
    ).matcher()
    forced = b"".join(vocabulary.token_bytes[token] for token in matcher.forced_tokens())
    assert b'{"temperature":'.startswith(forced)
    assert forced.startswith(b'{"temperature')
