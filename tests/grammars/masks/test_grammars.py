"""Masks of compiled specs: random walks against a scan of the vocabulary; several threads."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.masks.reference import ReferenceWalk
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import (
    Choice,
    Embed,
    FreeText,
    JsonObject,
    JsonSchema,
    Literal,
    Regex,
    Sequence,
    Structure,
    Tagged,
    TextSpec,
)
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary

SCHEMAS = {
    "anything": True,
    "object": {
        "type": "object",
        "properties": {
            "ab": {"type": "string", "maxLength": 4},
            "a": {"type": "array", "items": {"type": "integer", "minimum": -3, "maximum": 123}},
            "é": {"enum": ["ab", "abc", 1, None]},
        },
        "required": ["a"],
        "additionalProperties": {"type": "boolean"},
    },
    "tree": {
        "type": "object",
        "properties": {"v": {"type": "number"}, "c": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["v"],
        "additionalProperties": False,
    },
    "either": {
        "anyOf": [
            {"type": "array", "items": {"type": "string", "minLength": 2}, "maxItems": 3},
            {"type": "array", "items": {"type": "array", "items": {"type": "null"}}},
            {"type": "string", "pattern": "^a[bc]{2,4}$"},
        ]
    },
}

SPECS: dict[str, TextSpec] = {
    **{name: JsonSchema.from_value(schema) for name, schema in SCHEMAS.items()},
    "json object": JsonObject(),
    "regex": Regex("(ab|c)*[0-9]{1,3}é?"),
    "choice": Choice(("ab", "abc", "true", "é")),
    "call": Structure(
        Sequence(
            (
                Literal("<call>"),
                Embed(JsonSchema.from_value({"type": "array", "items": {"type": "boolean"}})),
                Literal("</call>"),
            )
        )
    ),
    "text with calls": Structure(
        FreeText(
            (Tagged("<call>", Sequence((Embed(Choice(("ab", "c"))), Literal("</call>")))),),
        )
    ),
}


@cache
def compiled(name: str):
    return compile_grammar(SPECS[name], tiny_vocabulary())


@cache
def reference(name: str) -> tuple[ReferenceWalk, int]:
    spec = SPECS[name]
    tables = AutomatonTables()
    part = spec.root if isinstance(spec, Structure) else Embed(spec)
    states = StructuralStates(part, tables, tiny_vocabulary(), CompileLimits())
    return ReferenceWalk(tables, states, tiny_vocabulary()), states.root


@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_masks_along_a_random_walk_are_scans_of_the_vocabulary(name, seed):
    choose = random.Random(seed)
    end_token_ids = set(tiny_vocabulary().end_token_ids)
    matcher = compiled(name).matcher()
    walk, root = reference(name)
    plain = walk.start(root)
    for _ in range(20):
        allowed = walk.allowed_token_ids(plain)
        assert matcher.allowed_token_ids() == allowed
        assert allowed
        assert matcher.is_complete == walk.is_complete(plain)
        assert end_token_ids.isdisjoint(allowed) != matcher.is_complete
        going_on = [token_id for token_id in allowed if token_id not in end_token_ids]
        assert matcher.is_terminated == (not going_on)
        if not going_on:
            break
        token_id = choose.choice(going_on)
        assert matcher.accept_token(token_id)
        symbols = walk.token_symbols(token_id)
        assert symbols is not None
        read = walk.read(plain, symbols)
        assert read is not None
        plain = read


@pytest.mark.parametrize("name", SPECS)
def test_no_token_that_a_mask_leaves_out_is_accepted(name):
    choose = random.Random(1)
    for _ in range(3):
        matcher = compiled(name).matcher()
        for _ in range(12):
            allowed = matcher.allowed_token_ids()
            for token_id in range(tiny_vocabulary().padded_size):
                if token_id not in allowed:
                    assert not matcher.accept_token(token_id)
            matcher.accept_token(choose.choice(allowed))
            if matcher.is_terminated:
                break


def test_threads_that_share_a_grammar_find_the_same_masks():
    vocabulary = tiny_vocabulary()
    shared = compile_grammar(SPECS["object"], vocabulary)

    def masks(seed: int, grammar) -> list[list[int]]:
        choose = random.Random(seed)
        found = []
        for _ in range(5):
            matcher = grammar.matcher()
            for _ in range(40):
                found.append(matcher.allowed_token_ids())
                if matcher.is_terminated:
                    break
                matcher.accept_token(choose.choice(found[-1]))
        return found

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: masks(seed % 3, shared), range(12)))
    alone = [masks(seed, compile_grammar(SPECS["object"], vocabulary)) for seed in range(3)]
    assert together == [alone[seed % 3] for seed in range(12)]


@pytest.mark.parametrize("name", ["qwen3", "mistral-v3"])
def test_every_walk_ends_in_a_complete_text_of_a_real_vocabulary(name):
    vocabulary = real_vocabulary(name)
    control_ids = {control.token_id for control in vocabulary.controls}
    choose = random.Random(3)
    for spec_name in ("object", "tree", "either"):
        grammar = compile_grammar(SPECS[spec_name], vocabulary)
        matcher = grammar.matcher()
        for _ in range(2000):
            allowed = matcher.allowed_token_ids()
            assert control_ids.isdisjoint(set(allowed) - set(vocabulary.end_token_ids))
            if matcher.is_complete:
                break
            closing = [x for x in allowed if vocabulary.token_bytes[x][:1] in (b"]", b"}", b'"')]
            assert matcher.accept_token(choose.choice(closing or allowed))
        assert matcher.is_complete
