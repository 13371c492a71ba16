"""Closing under a budget: a text under closing masks is whole when its tokens are used up."""

from __future__ import annotations

import random
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.compile import compile_grammar
from grammars.errors import LimitExceededError
from grammars.masks import completion
from grammars.masks.needed_tokens import REFUSED
from grammars.spec import (
    Choice,
    Embed,
    FreeText,
    JsonSchema,
    Literal,
    Regex,
    Sequence,
    Structure,
    Tagged,
    TextSpec,
)
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary

SPECS: dict[str, TextSpec] = {
    "object": JsonSchema.from_value(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "minLength": 3, "maxLength": 9},
                "b": {"type": "array", "items": {"type": "integer"}, "minItems": 2},
                "ab": {"enum": ["ab", "abc", 1, None]},
                "é": {"type": "number"},
            },
            "required": ["b", "ab"],
        }
    ),
    "tree": JsonSchema.from_value(
        {
            "type": "object",
            "properties": {
                "v": {"type": "string"},
                "c": {"type": "array", "items": {"$ref": "#"}, "maxItems": 3},
                "o": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
            },
            "required": ["v", "o"],
            "additionalProperties": False,
        }
    ),
    "an element of another outcome": JsonSchema.from_value(
        {
            "type": "array",
            "items": {"type": "array", "maxItems": 3},
            "contains": {"contains": {"const": 42}},
        }
    ),
    "elements of several outcomes": JsonSchema.from_value(
        {
            "type": "array",
            "items": {"type": "array", "contains": {"enum": [1, 22]}, "minContains": 2},
            "contains": {"contains": {"items": {"type": "null"}, "contains": True}},
            "minContains": 2,
        }
    ),
    "either": JsonSchema.from_value(
        {
            "anyOf": [
                {"type": "array", "items": {"type": "string", "minLength": 2}, "minItems": 4},
                {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "null"}},
                    "minItems": 2,
                },
                {"type": "string", "pattern": "^a[bc]{2,4}$"},
            ]
        }
    ),
    "many keys": JsonSchema.from_value(
        {
            "type": "object",
            "properties": {f"{n:03}": {"type": "null"} for n in range(70)},
            "required": ["050", "069"],
        }
    ),
    "anything": JsonSchema("true"),
    "long string": JsonSchema.from_value({"type": "string", "minLength": 40}),
    "regex": Regex("(ab|cc)*[0-9]{1,3}é?"),
    "choice": Choice(("ab", "abcabcabc", "true", "é")),
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
        FreeText((Tagged("<call>", Sequence((Embed(Choice(("ab", "c"))), Literal("</call>")))),))
    ),
}


def allowed(matcher, tokens_left=None):
    row = np.zeros(matcher._grammar.vocabulary.num_words, np.int32)
    if tokens_left is None:
        matcher.fill_bitmask(row)
    else:
        matcher.fill_closing_bitmask(row, tokens_left)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_closing_mask_holds_the_tokens_after_which_the_rest_suffices(name, seed):
    choose = random.Random(seed)
    vocabulary = tiny_vocabulary()
    ends = set(vocabulary.end_token_ids)
    matcher = compile_grammar(SPECS[name], vocabulary).matcher()
    tokens_left = matcher.min_tokens_to_complete() + choose.randrange(6)
    while not matcher.is_terminated:
        needed = matcher.min_tokens_to_complete()
        assert (needed == 0) == matcher.is_complete
        assert needed <= tokens_left
        expected = []
        for token_id in allowed(matcher):
            if token_id in ends:
                expected.append(token_id)
                continue
            assert matcher.accept_token(token_id)
            if matcher.min_tokens_to_complete() < tokens_left:
                expected.append(token_id)
            matcher.rollback(1)
        assert allowed(matcher, tokens_left) == expected
        going_on = [token_id for token_id in expected if token_id not in ends]
        assert bool(going_on) or matcher.is_complete
        if tokens_left == 0 or not going_on:
            break
        assert matcher.accept_token(choose.choice(going_on))
        tokens_left -= 1
    assert matcher.is_complete


ANY_ORDER = {
    "members of several lengths": {
        "properties": {
            "a": {"type": "string", "format": "date-time"},
            "b": {"type": "string"},
            "cc": {"type": "integer"},
        },
        "required": ["a", "b", "cc"],
    },
    "anything": True,
    "some members": {"type": "object", "minProperties": 3},
    "few keys": {
        "type": "object",
        "propertyNames": {"enum": ["a", "ab", "abcd", "x"]},
        "minProperties": 3,
    },
}


@pytest.mark.parametrize("name", ANY_ORDER)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), num_free=st.integers(0, 60))
def test_with_keys_in_any_order_a_text_closes_in_what_was_promised(name, seed, num_free):
    """Wherever the promise is asked for: in keys that may still become earlier ones too."""
    choose, vocabulary = random.Random(seed), tiny_vocabulary()
    spec = JsonSchema.from_value(ANY_ORDER[name], property_order="any")
    matcher = compile_grammar(spec, vocabulary).matcher()
    for _ in range(num_free):
        if not matcher.is_terminated:
            assert matcher.accept_token(choose.choice(allowed(matcher)))
    for tokens_left in range(matcher.min_tokens_to_complete(), 0, -1):
        if not matcher.is_terminated:
            assert matcher.accept_token(choose.choice(allowed(matcher, tokens_left)))
    assert matcher.is_complete


def fewest_tokens(matcher, most):
    """Breadth first over all texts of at most `most` tokens: the least number that completes."""
    frontier: list[tuple[int, ...]] = [()]
    seen: set[int] = set()
    for length in range(most + 1):
        following: list[tuple[int, ...]] = []
        for path in frontier:
            for token_id in path:
                assert matcher.accept_token(token_id)
            is_complete, where = matcher.is_complete, id(matcher._configuration)
            if where not in seen:
                seen.add(where)
                following += [(*path, token_id) for token_id in allowed(matcher)]
            matcher.rollback(len(path))
            if is_complete:
                return length
        frontier = following
    return None


@pytest.mark.parametrize(
    ("spec", "fewest", "promised"),
    [
        (Choice(("abcabcabc", "1c1")), 3, 3),
        (Regex("(cc)*1é12"), 3, 3),
        (Regex("a{4}b"), 4, 4),
        (Regex("(ab|cc)*[0-9]{2,3}"), 1, 2),  # `12` against `0`, `0`
        (JsonSchema('{"type": "string", "minLength": 3}'), 2, 5),  # `"ab`, `a"`
        (JsonSchema('{"type": "array", "items": {"enum": ["ab"]}, "minItems": 1}'), 3, 4),
        (JsonSchema('{"const": [[1], [1, 12]]}'), 6, 11),  # tokens such as `[[` cross a seam
    ],
)
def test_the_promise_is_near_to_the_least_number(spec, fewest, promised):
    matcher = compile_grammar(spec, tiny_vocabulary()).matcher()
    assert fewest_tokens(matcher, fewest) == fewest
    assert matcher.min_tokens_to_complete() == promised


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("spare", [0, 1, 7, 40])
def test_a_stubborn_model_ends_with_a_whole_text(name, spare):
    """It always takes the longest token, of those that do not end the text."""
    vocabulary = tiny_vocabulary()
    matcher = compile_grammar(SPECS[name], vocabulary).matcher()
    tokens_left = matcher.min_tokens_to_complete() + spare
    while tokens_left > 0:
        texts = {x: vocabulary.token_bytes.get(x) for x in allowed(matcher, tokens_left)}
        going_on = [x for x in texts if x not in vocabulary.end_token_ids]
        if not going_on:
            break
        assert matcher.accept_token(max(going_on, key=lambda x: len(texts[x] or b"")))
        tokens_left -= 1
    assert matcher.is_complete


def test_a_budget_that_is_too_small_is_closed_in_as_soon_as_can_be_promised():
    vocabulary = tiny_vocabulary()
    matcher = compile_grammar(SPECS["object"], vocabulary).matcher()
    needed = matcher.min_tokens_to_complete()
    while needed > 0:
        assert matcher.accept_token(allowed(matcher, 1)[0])
        assert matcher.min_tokens_to_complete() < needed
        needed = matcher.min_tokens_to_complete()
    assert matcher.is_complete


def test_at_the_end_of_the_budget_a_whole_text_may_only_end():
    vocabulary = tiny_vocabulary()
    matcher = compile_grammar(Regex("a*"), vocabulary).matcher()
    assert allowed(matcher, 0) == list(vocabulary.end_token_ids)
    assert matcher.accept_token(vocabulary.encode(b"a")[0])
    assert allowed(matcher, 0) == list(vocabulary.end_token_ids)
    matcher.accept_token(vocabulary.end_token_ids[0])
    assert allowed(matcher, 5) == []


@pytest.mark.parametrize("name", ["object", "tree"])
def test_promises_over_real_tokens_are_kept_by_the_closing_text(name):
    vocabulary = real_vocabulary("qwen3")
    matcher = compile_grammar(SPECS[name], vocabulary).matcher()
    for token_id in vocabulary.encode(b'{"a": "xyz w' if name == "object" else b'{"v": "x'):
        assert matcher.accept_token(token_id)
    tokens_left = matcher.min_tokens_to_complete()
    while not matcher.is_complete:
        assert matcher.accept_token(allowed(matcher, tokens_left)[0])
        tokens_left -= 1
        assert matcher.min_tokens_to_complete() <= tokens_left


def test_the_number_is_given_up_where_more_of_the_grammar_would_have_to_be_looked_at():
    names = [f"k{number}" for number in range(80)]
    schema = {"type": "object", "properties": dict.fromkeys(names, True), "required": names}
    grammar = compile_grammar(JsonSchema.from_value(schema), tiny_vocabulary())
    with pytest.raises(LimitExceededError) as caught:
        grammar.matcher().min_tokens_to_complete(max_states=80)
    assert (caught.value.limit, caught.value.allowed) == ("max_states", 80)
    found = grammar.matcher().min_tokens_to_complete(max_states=1_000)
    other = compile_grammar(JsonSchema.from_value(schema), tiny_vocabulary())
    assert found == other.matcher().min_tokens_to_complete()
    assert grammar.matcher().min_tokens_to_complete(max_states=0) == found  # it is known now


def test_closing_is_refused_where_too_many_places_would_have_to_be_made(monkeypatch):
    monkeypatch.setattr(completion, "MAX_CLOSING_STATES", 80)
    names = [f"k{number}" for number in range(80)]
    schema = {"type": "object", "properties": dict.fromkeys(names, True), "required": names}
    spec = JsonSchema.from_value(schema, property_order="any")
    grammar = compile_grammar(spec, tiny_vocabulary())
    for _ in range(2):
        with pytest.raises(LimitExceededError) as caught:
            grammar.matcher().min_tokens_to_complete()
        num_states = grammar.num_states
        assert str(caught.value) == (
            "the end of the text needs more than max_closing_states=80; "
            "simplify it or raise the limit"
        )
    with pytest.raises(LimitExceededError):
        grammar.matcher().min_tokens_to_complete()
    assert grammar.num_states == num_states  # nothing is looked for again


@pytest.mark.parametrize("name", SPECS)
def test_what_is_needed_after_tokens_is_the_same_one_by_one(name):
    choose = random.Random(5)
    matcher = compile_grammar(SPECS[name], tiny_vocabulary()).matcher()
    closing = matcher._grammar._closing
    for _ in range(25):
        row = np.zeros(tiny_vocabulary().num_words, np.int32)
        matcher.fill_bitmask(row)
        needed = closing._needed_one_by_one(matcher._configuration, row)
        assert np.array_equal(closing._needed.find(matcher._configuration), needed)
        going_on = np.flatnonzero(needed != REFUSED).tolist()
        if not going_on:
            break
        assert matcher.accept_token(choose.choice(going_on))


def test_other_texts_go_on_while_an_end_is_looked_for(monkeypatch):
    names = [f"member {number}" for number in range(300)]
    schema = {"type": "object", "properties": dict.fromkeys(names, True), "required": names}
    grammar, fresh = (
        compile_grammar(JsonSchema.from_value(schema), tiny_vocabulary()) for _ in range(2)
    )
    num_masks, numbers = 0, []

    def ask_for_a_mask():
        nonlocal num_masks
        matcher = grammar.matcher()
        matcher.fill_bitmask(np.zeros(tiny_vocabulary().num_words, np.int32))
        num_masks += 1
        if num_masks == 10:
            numbers.append(matcher.min_tokens_to_complete())

    def let_others_in(_seconds):
        if threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=ask_for_a_mask, daemon=True)
            other.start()
            other.join(60)
            assert not other.is_alive()

    expected = fresh.matcher().min_tokens_to_complete()
    monkeypatch.setattr(time, "sleep", let_others_in)
    assert grammar.matcher().min_tokens_to_complete() == expected
    assert numbers == [expected]
