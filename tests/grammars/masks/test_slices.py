"""Slices: tokens sorted at once are those sorted one by one; the rows are those of whole walks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.character_groups import GROUP_OF_BYTE
from grammars.automata.dfa import DEAD, NO_LABEL, Dfa
from grammars.automata.owed import characters_owed
from grammars.limits import CompileLimits
from grammars.masks import slice_sources
from grammars.masks.compiled import AutomatonGrammar
from grammars.masks.safe_runs import find_safe_runs
from grammars.masks.subtrees import build_subtrees
from grammars.masks.token_sorting import sort_strings, sort_tokens
from grammars.masks.token_symbols import build_token_symbols
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonSchema
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary

MAX_LEAVING = 1 << 12
CHARACTERS = ('"', "a", "b", "1", "-", " ", "\\")
"""Each is a class of its own in `dfas`; so are the first bytes of two and three, and later ones."""

TWO, THREE, LATER = range(len(CHARACTERS) + 1, len(CHARACTERS) + 4)


@st.composite
def dfas(draw):
    num_states = draw(st.integers(2, 5))
    to_last, to_next = num_states, num_states + 1  # within characters
    state = st.integers(0, num_states - 1)
    often = draw(state)
    next_state = np.zeros((num_states + 2, LATER + 1), np.int32)
    for row in next_state[1:num_states]:
        size = len(CHARACTERS)
        row[1 : size + 1] = draw(st.lists(state | st.just(often), min_size=size, max_size=size))
        row[TWO], row[THREE] = draw(st.sampled_from([(to_last, to_next), (0, to_next), (0, 0)]))
    next_state[to_next, LATER] = to_last
    next_state[to_last, LATER] = draw(state | st.just(often))
    symbol_class = np.zeros(256, np.uint16)
    symbol_class[[ord(character) for character in CHARACTERS]] = range(1, TWO)
    symbol_class[0xC2:0xE0], symbol_class[0xE0:0xF0] = TWO, THREE
    symbol_class[0x80:0xC0] = LATER
    label, boundary = np.zeros(num_states + 2, np.int32), np.zeros(num_states + 2, np.bool_)
    label[1:num_states] = draw(st.lists(st.integers(0, 2), min_size=4, max_size=4))[
        : num_states - 1
    ]
    if draw(st.booleans()):
        boundary[1:num_states] = draw(st.lists(st.booleans(), min_size=4, max_size=4))[
            : num_states - 1
        ]
    return Dfa(symbol_class, next_state, label, 1, boundary)


@given(dfas())
@settings(max_examples=150, deadline=None)
def test_subtrees_that_are_not_walked_are_sorted_as_if_they_were(dfa):
    tokens = tiny_vocabulary("aaa", "a1a", "ab1", "1-1", 'a"', "b b", "é1", "€a", "a€€").derive(
        build_token_symbols
    )
    owed = np.maximum(characters_owed(dfa), 0)
    safe = find_safe_runs(dfa, 1, owed)
    fast, plain = (
        sort_tokens(
            tokens.trie.nodes,
            tokens.trie.token_ids,
            tokens.longest,
            *build_subtrees(tokens.trie),
            dfa.symbol_class,
            dfa.next_state,
            dfa.label,
            dfa.char_boundary,
            owed,
            1,
            groups,
            safe.runs,
            MAX_LEAVING,
        )
        for groups in (safe.groups, 0)
    )
    for ours, theirs in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(dfas())
@settings(max_examples=150, deadline=None)
def test_a_run_reads_all_strings_of_safe_characters_and_no_longer_run_does(dfa):
    owed = np.maximum(characters_owed(dfa), 0)
    safe = find_safe_runs(dfa, 1, owed)
    strings = [text.encode() for text in (*CHARACTERS, "é", "€", "\ufb01", "🙂")]
    strings = [text for text in strings if safe.groups >> int(GROUP_OF_BYTE[text[0]]) & 1]
    for state in range(1, dfa.num_states):
        for length in range(1, 4):
            are_safe = [
                _is_safe(dfa, state, characters, owed)
                for characters in product(strings, repeat=length)
            ]
            assert not strings or all(are_safe) == (length <= safe.runs[state])


def _is_safe(dfa, state, characters, owed):
    is_counted = dfa.char_boundary.any()
    for character in characters:
        if is_counted and not dfa.char_boundary[state]:
            return False
        for num_read, byte in enumerate(character, 1):
            following = dfa.step(state, byte)
            is_closed = dfa.label[following] != NO_LABEL and not dfa.next_state[following].any()
            if following == DEAD or is_closed or owed[following] != owed[state]:
                return False
            if num_read < len(character) and dfa.char_boundary[following]:
                return False
            state = following
    return True


@given(st.lists(st.text("ab", max_size=4), max_size=40))
@settings(max_examples=100, deadline=None)
def test_strings_are_sorted(texts):
    symbols = np.frombuffer("".join(texts).encode(), np.uint8).astype(np.uint16)
    end = np.cumsum([len(text) for text in texts]).astype(np.int32)
    begin = end - np.array([len(text) for text in texts], np.int32)
    order = sort_strings(symbols, begin, end)
    assert sorted(order.tolist()) == list(range(len(texts)))
    assert [texts[i] for i in order] == sorted(texts)


CASES = {
    "a pattern with a bound": ({"type": "string", "pattern": "^[\\w.-]{1,300}$"}, '"abc'),
    "the same at its end": ({"type": "string", "pattern": "^[\\w.-]{1,9}$"}, '"abc_de'),
    "labels of a large lexer": (
        {"anyOf": [{"type": "string", "pattern": "^[^,]{3,200}$"}, {"enum": ["a,b", "x"]}]},
        '"ab',
    ),
    "a counted format": ({"type": "string", "format": "email", "maxLength": 20}, '"a.b'),
    "keys of a pattern": (
        {
            "patternProperties": {"^[a-z ]{2,99}$": {"type": "null"}},
            "properties": {"ab": {"type": "integer"}},
            "additionalProperties": False,
        },
        '{"a',
    ),
}


@pytest.mark.parametrize("most", [slice_sources.MAX_RESIDUAL_STATES, 2])
@pytest.mark.parametrize("name", CASES)
def test_rows_of_slices_are_those_of_whole_walks(name, most, monkeypatch):
    monkeypatch.setattr(slice_sources, "MAX_RESIDUAL_STATES", most)
    schema, text = CASES[name]
    vocabulary = real_vocabulary("qwen2.5")
    part = Embed(JsonSchema.from_value(schema))
    matchers = []
    for way in ("slices", "walk"):
        tables = AutomatonTables()
        states = StructuralStates(part, tables, vocabulary, CompileLimits())
        grammar = AutomatonGrammar(tables, states, states.root, vocabulary, way=way)
        matchers.append(grammar.matcher())
    for byte in text.encode():
        [token_id] = vocabulary.encode(bytes([byte]))
        for matcher in matchers:
            assert matcher.accept_token(token_id)
        ours, theirs = (matcher.allowed_token_ids() for matcher in matchers)
        assert ours == theirs
