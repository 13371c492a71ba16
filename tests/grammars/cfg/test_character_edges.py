"""The edges of a set of characters spell exactly its members."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grammars.automata.charset import CharSet
from grammars.automata.pattern_ast import Characters
from grammars.cfg.character_edges import AFTER, BEFORE, character_edges
from grammars.cfg.spelling import JSON_CONTENT, UTF8
from grammars.cfg.terminals import terminal_dfa
from tests.fuzz.budget import examples

CHARACTERS = st.characters(exclude_categories=["Cs"])


def read(members, spelling, character):
    """Whether the edges of `members` read `character`, taking each symbol as the one way on."""
    edges = character_edges(members, spelling).rows.T.tolist()
    state = BEFORE
    for symbol in spelling.word(ord(character)):
        targets = [t for s, low, high, t in edges if s == state and low <= symbol <= high]
        if not targets:
            return False
        [state] = targets
    return state == AFTER


@examples(100)
@given(
    st.lists(st.tuples(CHARACTERS, CHARACTERS), max_size=6),
    CHARACTERS,
    st.sampled_from([UTF8, JSON_CONTENT]),
)
def test_they_read_the_members_and_nothing_else(pairs, character, spelling):
    ranges = [(min(map(ord, pair)), max(map(ord, pair))) for pair in pairs]
    members = CharSet.from_ranges(ranges)
    assert read(members, spelling, character) == (ord(character) in members)
    if not members.is_empty:
        assert read(members, spelling, chr(members.bounds[0]))


@examples(50)
@given(st.sets(CHARACTERS, min_size=1, max_size=20), st.sampled_from([UTF8, JSON_CONTENT]))
def test_no_two_states_have_the_same_ways_on(characters, spelling):
    members = CharSet.of("".join(characters)).complement()
    smallest = terminal_dfa(Characters(members), spelling, max_states=1_000)
    assert character_edges(members, spelling).num_states == smallest.num_states - 1  # without DEAD
