"""Closing inside of strings in pieces: their contents say what the pieces would say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from grammars.automata.dfa import DEAD
from grammars.compile import compile_grammar
from grammars.masks import label_ways
from grammars.masks.earlier_words import EarlierWords
from grammars.masks.lexer_ways import shortest_texts
from grammars.masks.needed_tokens import REFUSED
from grammars.pushdown import string_reading
from grammars.spec import JsonSchema
from tests.support.tokenizers import tiny_vocabulary

WORDS = ["a", "ab", "abcab", "b1", "cccc", "é", "éa", "1é12", 'a"b', "\x01a", "a\\", "tru", "😀a"]
OTHERS = ["ab", "abc", "abcabcabcabc", "b12", "é", "ééé", "x", '"', "true"]
LISTS: dict[str, object] = {
    "alone": {"enum": WORDS},
    "in an array": {"items": {"enum": WORDS}, "minItems": 2, "type": "array"},
    "beside others": {
        "items": {"anyOf": [{"enum": WORDS}, {"type": ["null", "number"]}, {"const": {}}]},
        "type": "array",
        "minItems": 1,
    },
    "as a member": {
        "additionalProperties": {"enum": WORDS},
        "type": "object",
        "minProperties": 1,
    },
    "patterns": {"type": "string", "pattern": '^(ab|c[a-c]{2,5}|é+1|\\\\")x?$'},
}
MEETINGS: dict[str, object] = {
    "lists that meet": {
        "anyOf": [
            {"type": "array", "items": {"enum": WORDS}, "minItems": 1},
            {"type": "array", "items": {"enum": OTHERS}, "minItems": 3},
        ]
    },
    "one of a list, among those of another": {
        "type": "array",
        "items": {"enum": WORDS},
        "contains": {"enum": OTHERS},
        "minContains": 2,
    },
    "lists and patterns": {
        "anyOf": [
            {"type": "object", "additionalProperties": {"enum": WORDS}, "minProperties": 2},
            {
                "type": "object",
                "additionalProperties": {"pattern": "^[abé]{1,6}$", "type": "string"},
                "required": ["a"],
            },
        ]
    },
}


def read_in_pieces(monkeypatch, num_states):
    """From now on all strings are read in pieces of about so many states."""
    monkeypatch.setattr(string_reading, "_SURELY_FEW", 0)
    monkeypatch.setattr(string_reading, "_STATES_OF_ONE", 0)
    monkeypatch.setattr(string_reading, "_STATES_OF_PIECE", num_states)
    monkeypatch.setattr(string_reading, "_FEW_RESTS", 0)


@pytest.fixture(params=[24, 40])
def in_pieces(request, monkeypatch):
    read_in_pieces(monkeypatch, request.param)


def grammar_of(schema):
    return compile_grammar(JsonSchema.from_value(schema), tiny_vocabulary())


def texts_of(grammar, seed, num_texts=3, num_tokens=14):
    """Matchers at all places of some random texts."""
    choose = random.Random(seed)
    for _ in range(num_texts):
        matcher = grammar.matcher()
        for _ in range(num_tokens):
            yield matcher
            going_on = set(matcher.allowed_token_ids()) - set(tiny_vocabulary().end_token_ids)
            if not going_on:
                break
            assert matcher.accept_token(choose.choice(sorted(going_on)))


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("num_states", [24, 40])
def test_what_a_text_lacks_is_the_same_in_pieces_and_whole(name, num_states, monkeypatch):
    whole = grammar_of(LISTS[name])
    whole.matcher().allowed_token_ids()
    read_in_pieces(monkeypatch, num_states)
    for seed in range(4):
        for matcher in texts_of(grammar_of(LISTS[name]), seed):
            other = whole.matcher()
            assert all(other.accept_token(token_id) for token_id in matcher._token_ids)
            assert matcher.min_tokens_to_complete() == other.min_tokens_to_complete()


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("name", [*LISTS, *MEETINGS])
def test_what_tokens_lead_to_needs_what_it_needs_one_by_one(name):
    schema = (LISTS | MEETINGS)[name]
    for seed in range(4):
        for matcher in texts_of(grammar_of(schema), seed):
            closing = matcher._grammar._closing
            configuration = matcher._configuration.shared
            row = matcher._grammar.mask(configuration).words
            found = closing._needed.find(configuration)
            assert np.array_equal(found, closing._needed.find_by_walk(configuration))
            is_allowed = np.unpackbits(row.view(np.uint8), bitorder="little")[: len(found)] > 0
            is_allowed[list(tiny_vocabulary().end_token_ids)] = False
            assert np.array_equal(found != REFUSED, is_allowed)


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("name", [*LISTS, *MEETINGS])
def test_in_pieces_too_a_text_closes_in_what_was_promised(name):
    grammar = grammar_of((LISTS | MEETINGS)[name])
    for seed in range(12):
        choose = random.Random(seed)
        matcher = grammar.matcher()
        for tokens_left in range(matcher.min_tokens_to_complete() + seed % 4, 0, -1):
            if matcher.is_terminated:
                break
            row = np.zeros(tiny_vocabulary().num_words, np.int32)
            matcher.fill_closing_bitmask(row, tokens_left)
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")
            assert matcher.accept_token(choose.choice(np.flatnonzero(bits).tolist()))
        assert matcher.is_complete


@pytest.mark.parametrize("pattern", ["^(ab|b[a-d]{2,6}|éa+c)*d$", "^(a|bb|cab){3,30}$"])
def test_ways_of_all_states_are_those_of_each(pattern, monkeypatch):
    """To the end of a string, of a number, and to a bracket: three labels in one lexer."""
    monkeypatch.setattr(label_ways, "_FEWEST_STATES", 0)
    schema = {"items": {"anyOf": [{"type": "string", "pattern": pattern}, {"multipleOf": 37}]}}
    grammar = grammar_of({**schema, "type": "array"})
    num_seen = 0
    for seed in range(6):
        for matcher in texts_of(grammar, seed):
            ways = matcher._grammar._closing._completion._ways
            state, lexer = matcher._configuration.state, matcher._configuration.lexer
            if lexer == DEAD:  # nothing can follow
                continue
            found = {way.label: way for way in ways.find(lexer, state)}
            dfa, local = matcher._grammar._tables.lexers.locate(lexer)
            num_seen += label_ways.LabelWays.is_for(dfa)
            plain = shortest_texts(dfa, local, None, lambda _: True)
            one_by_one = {label: ways._way(dfa, label, *path) for label, *path in plain}
            assert found == one_by_one
    assert num_seen > 20


DISTINCT: dict[str, object] = {
    "elements": {"items": {"enum": WORDS}, "uniqueItems": True, "type": "array", "minItems": 3},
    "elements with elements": {
        "items": {"items": {"enum": OTHERS}, "type": "array", "uniqueItems": True, "minItems": 1},
        "uniqueItems": True,
        "type": "array",
        "minItems": 2,
    },
    "keys": {"additionalProperties": {"enum": WORDS}, "type": "object", "minProperties": 9},
}


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("name", DISTINCT)
def test_what_tokens_need_where_texts_must_differ_is_what_they_need_one_by_one(name):
    spec = JsonSchema.from_value(DISTINCT[name], property_order="any")
    grammar = compile_grammar(spec, tiny_vocabulary())
    num_seen = 0
    for seed in range(8):
        for matcher in texts_of(grammar, seed, num_tokens=30):
            closing, configuration = matcher._grammar._closing, matcher._configuration
            row = matcher._grammar.mask(configuration).words
            if configuration.point is not None:
                found = closing._needed_after(configuration, row)
                plain = closing._needed_one_by_one(configuration, row)
                is_allowed = plain != REFUSED
                assert np.array_equal(found[is_allowed], plain[is_allowed])
                num_seen += EarlierWords.at(configuration.point) is not None
    assert num_seen > 20
