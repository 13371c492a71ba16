"""Strings that must end in a certain way, their length bounded by the counter alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.codepoint_dfa import CodePointDfa
from grammars.automata.dfa import DEAD, NO_LABEL, Dfa
from grammars.automata.json_string import json_string
from grammars.automata.lexer import LexerBuilder
from grammars.automata.owed import characters_owed
from grammars.automata.pattern_dfa import search
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.schema import scalars
from grammars.spec import Embed, JsonSchema
from tests.support.tokenizers import tiny_vocabulary

if TYPE_CHECKING:
    from grammars.masks.mask_maker import MaskWay

PATTERNS = [
    "^(?:[^ ]+ ){0,3}[^ ]+$",
    "abc",
    "^a*é{3}$",
    "^(?:ab|\\n\\n)*c[0-9]{2,}$",
    "^a{0,9}(?:bc)?$",
]
BOUNDS = [(0, 3), (0, 4), (0, 7), (0, 12), (0, 40)]


@pytest.mark.parametrize("pattern", ["^a*$", "foo", "^(?:ab){3,}$", "^é{2}\\n?a$|^b*aaa$"])
def test_the_characters_owed_are_the_fewest(pattern):
    string = json_string(search(pattern))
    builder = LexerBuilder(10_000)
    builder.accept(builder.literal(builder.start, b"null"), 0)
    builder.accept(builder.embed(builder.start, string), 1)
    for dfa in (string, builder.determinise().dfa):
        assert characters_owed(dfa).tolist() == plainly_owed(dfa)


def plainly_owed(dfa: Dfa) -> list[int]:
    """Numbers are lowered until nothing changes (R. Bellman, 1958)."""
    is_closed = (dfa.label != NO_LABEL) & ~np.any(dfa.next_state != DEAD, axis=1)
    owed = [0 if label != NO_LABEL else 10**6 for label in dfa.label.tolist()]
    before: list[int] = []
    while owed != before:
        before = owed.copy()
        for state in range(1, dfa.num_states):
            for following in set(dfa.next_state[state].tolist()) - {DEAD}:
                counted = bool(dfa.char_boundary[state]) and not is_closed[following]
                owed[state] = min(owed[state], owed[following] + counted)
    return [0, *owed[1:]]


def counted_grammar(pattern: str, bounds: tuple[int, int], way: MaskWay = "slices"):
    schema: dict[str, object] = {"type": ["null", "string"], "pattern": pattern}
    schema.update({"minLength": bounds[0], "maxLength": bounds[1]})
    vocabulary, tables = tiny_vocabulary(), AutomatonTables()
    part = Embed(JsonSchema.from_value({"type": "array", "items": schema, "maxItems": 2}))
    states = StructuralStates(part, tables, vocabulary, CompileLimits())
    return AutomatonGrammar(tables, states, states.root, vocabulary, way=way)


@pytest.fixture(autouse=True)
def _nothing_is_multiplied(monkeypatch):
    monkeypatch.setattr(scalars, "_FEW_STATES", 0)

    def refuse(self, *args, **options):
        raise AssertionError("the lengths were multiplied in")

    monkeypatch.setattr(CodePointDfa, "with_length", refuse)


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32), bounds=st.sampled_from(BOUNDS))
def test_masks_agree_and_lead_to_an_end(pattern, seed, bounds):
    vocabulary = tiny_vocabulary()
    choose = random.Random(seed)
    matchers = [counted_grammar(pattern, bounds, way).matcher() for way in WAYS]
    text = b""
    for _ in range(60):
        allowed = matchers[0].allowed_token_ids()
        assert allowed
        assert all(matcher.allowed_token_ids() == allowed for matcher in matchers)
        going_on = [x for x in allowed if x not in vocabulary.end_token_ids]
        if not going_on:
            break
        quiet = [x for x in going_on if b'"' not in vocabulary.token_bytes[x]]
        token_id = choose.choice(quiet if quiet and choose.random() < 0.8 else going_on)
        text += vocabulary.token_bytes[token_id]
        assert all(matcher.accept_token(token_id) for matcher in matchers)


WAYS: tuple[MaskWay, ...] = ("reference", "walk", "slices")


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32), bounds=st.sampled_from(BOUNDS))
def test_a_text_can_be_closed_from_everywhere(pattern, seed, bounds):
    """Each of the tokens that the closing mask leaves brings the end nearer, the last one there."""
    choose = random.Random(seed)
    matcher = counted_grammar(pattern, bounds).matcher()
    for _ in range(choose.randrange(30)):
        going_on = [x for x in matcher.allowed_token_ids() if x < 256 or x > 260]
        if matcher.is_complete or not going_on:
            break
        matcher.accept_token(choose.choice(going_on))
    row = np.zeros(tiny_vocabulary().num_words, np.int32)
    tokens_left = matcher.min_tokens_to_complete()
    while not matcher.is_complete:
        matcher.fill_closing_bitmask(row, tokens_left)
        left = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        assert left
        assert matcher.accept_token(choose.choice(left))
        tokens_left -= 1
        assert matcher.min_tokens_to_complete() <= tokens_left
