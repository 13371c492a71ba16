"""Strings in pieces: the same texts, masks that agree, an end from everywhere."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown import string_reading
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Either, Embed, JsonSchema, Part
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.grammar_texts import TextJudge
from tests.support.tokenizers import tiny_vocabulary

if TYPE_CHECKING:
    from grammars.masks.mask_maker import MaskWay

WAYS: tuple[MaskWay, ...] = ("reference", "walk", "slices")


@pytest.fixture
def _short_pieces(monkeypatch):
    monkeypatch.setattr(string_reading, "_SURELY_FEW", 0)
    monkeypatch.setattr(string_reading, "_STATES_OF_ONE", 0)
    monkeypatch.setattr(string_reading, "_STATES_OF_PIECE", 40)
    monkeypatch.setattr(string_reading, "_FEW_RESTS", 0)


def one_of_two(*strings: dict[str, object]) -> JsonSchema:
    """Objects that go on side by side after `a`, until the next key tells them apart."""
    options = [
        {"properties": {"a": strings[i], key: {"type": "null"}}, "required": ["a", key]}
        for i, key in enumerate("bc")
    ]
    closed: dict[str, object] = {"type": "object", "additionalProperties": False}
    return JsonSchema.from_value({"items": {"anyOf": [{**closed, **option} for option in options]}})


SHORT, SHORTER = {"type": "string", "maxLength": 7}, {"type": "string", "maxLength": 3}
PARTS: dict[str, Part] = {
    "alone": Embed(JsonSchema.from_value({"items": SHORT})),
    "beside others": Embed(JsonSchema.from_value({"items": {"anyOf": [SHORT, {"type": "null"}]}})),
    "lists": Embed(
        JsonSchema.from_value({"items": {"enum": ["abc", "abd", "ab", "b\né", "x" * 9]}})
    ),
    "lists that meet": Embed(
        one_of_two({"enum": ["abc", "ab", "cccc", "é"]}, {"enum": ["abc", "abcc", "a\"b", ""]})
    ),
    "a list beside others": Embed(
        JsonSchema.from_value(
            {"anyOf": [{"enum": ["ab", "abc", "é"]}, {"type": ["integer", "null"]}]}
        )
    ),
    "a list after keys": Embed(
        JsonSchema.from_value({"additionalProperties": {"enum": ["ab", "aéé", ", ab"]}})
    ),
    "bounds that meet": Embed(one_of_two(SHORT, SHORTER)),
    "patterns that meet": Embed(
        one_of_two({"pattern": "^a.{2}", **SHORT}, {"type": "string", "pattern": "b+$"})
    ),
    "unique": Embed(JsonSchema.from_value({"items": SHORTER, "uniqueItems": True})),
    "any order": Embed(
        JsonSchema.from_value(
            {"properties": {"a": SHORT, "b": SHORTER}, "additionalProperties": {"maxLength": 4}},
            property_order="any",
        )
    ),
    "two schemas": Either(
        tuple(Embed(JsonSchema.from_value(each)) for each in (SHORTER, {"enum": ["a", "xxxx"]}))
    ),
}  # fmt: skip


def compiled(part: Part, way: MaskWay = "slices") -> AutomatonGrammar:
    vocabulary, tables = tiny_vocabulary(), AutomatonTables()
    states = StructuralStates(part, tables, vocabulary, CompileLimits())
    distinct = states if states.has_distinct_texts else None
    return AutomatonGrammar(tables, states, states.root, vocabulary, way=way, distinct=distinct)


@pytest.mark.usefixtures("_short_pieces")
@pytest.mark.parametrize("name", PARTS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_masks_of_pieces_agree_and_a_text_can_be_closed_from_everywhere(name, seed):
    vocabulary, choose = tiny_vocabulary(), random.Random(seed)
    matchers = [compiled(PARTS[name], way).matcher() for way in WAYS]
    for _ in range(choose.randrange(40)):
        allowed = matchers[0].allowed_token_ids()
        assert all(matcher.allowed_token_ids() == allowed for matcher in matchers)
        going_on = [x for x in allowed if x not in vocabulary.end_token_ids]
        if not going_on:
            break
        quiet = [x for x in going_on if b'"' not in vocabulary.token_bytes[x]]
        token_id = choose.choice(quiet if quiet and choose.random() < 0.7 else going_on)
        assert all(matcher.accept_token(token_id) for matcher in matchers)
    matcher = matchers[-1]
    row = np.zeros(vocabulary.num_words, np.int32)
    tokens_left = matcher.min_tokens_to_complete()
    while not matcher.is_complete:
        matcher.fill_closing_bitmask(row, tokens_left)
        left = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        assert left
        assert matcher.accept_token(choose.choice(left))
        tokens_left -= 1
        assert matcher.min_tokens_to_complete() <= tokens_left


DOCUMENTS: dict[str, list[object]] = {
    "lists": [[], ["abc", "ab"], ["b\né"], ["x" * 9], ["x" * 8], ["abcd"], ["a"], ["abd", 1]],
    "lists that meet": [
        [{"a": text, key: None}]
        for text in ("abc", "ab", "cccc", "é", "abcc", 'a"b', "", "a")
        for key in "bc"
    ],
    "a list beside others": ["ab", "abc", "é", 12, None, "a", "éé", True],
    "a list after keys": [{}, {"a": "ab", "ab": "aéé"}, {"é": ", ab"}, {"a": "a"}, {"a": ","}],
    "unique": [["a", "b", "aa"], ["a", "b", "a"], ["aaaa"], ["aab", "aab"], ["aab", "aac"]],
    "any order": [
        {"b": "xyz", "a": "1234567"}, {"b": "wxyz"}, {"c": "wxyz", "d": ""}, {"c": "vwxyz"},
    ],
    "two schemas": ["", "abc", "abcd", "xxxx", "xxx", "xxxxx"],
    "bounds that meet": [
        [{"a": "x" * size, key: None}] for size in (0, 2, 3, 4, 6, 7, 8) for key in "bc"
    ],
    "patterns that meet": [
        [{"a": text, key: None}]
        for text in ("abb", "abbbbbb", "abbbbbbb", "axyz", "b", "xb" * 20, "ab")
        for key in "bc"
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_strings_in_pieces_are_the_same_strings(name, request):
    def accepted() -> list[object]:
        judge = TextJudge(PARTS[name])
        return [
            document
            for document in DOCUMENTS[name]
            if judge.accepts(json.dumps(document, ensure_ascii=False))
        ]

    whole = accepted()
    request.getfixturevalue("_short_pieces")
    assert accepted() == whole
    assert 0 < len(whole) < len(DOCUMENTS[name])


@pytest.mark.parametrize(
    ("strings", "sizes"),
    [
        (({"type": "string"}, {"type": "string", "maxLength": 32_767}), (32_767, 32_768)),
        (
            ({"type": "string", "maxLength": 9_000}, {"type": "string", "maxLength": 20_000}),
            (9_000, 9_001, 20_000, 20_001),
        ),
        (
            ({"type": "string", "maxLength": 900}, {"type": "string", "pattern": "^x|foo$"}),
            (1, 900, 901, 2_000),
        ),
        (({"const": "", "maxLength": 0}, {"type": "string", "maxLength": 9_000}), (0, 1, 9_000)),
    ],
)  # fmt: skip
def test_large_bounds_of_strings_that_meet_are_each_kept(strings, sizes):
    grammar = compile_grammar(one_of_two(*strings), byte_vocabulary())
    bounds = [each.get("maxLength", 10**9) for each in strings]
    for size in sizes:
        for key, most in zip("bc", bounds, strict=True):
            matcher = grammar.matcher()
            text = json.dumps([{"a": "x" * size, key: None}])
            is_read = all(map(matcher.accept_token, text.encode())) and matcher.is_complete
            assert is_read == (size <= most)
    assert grammar.num_states < 400  # a piece is made for every 256 characters
