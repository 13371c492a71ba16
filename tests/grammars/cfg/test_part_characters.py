"""Labels in the middle of characters are those that a plain search, state by state, finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES
from grammars.automata.lexer import LexerBuilder
from grammars.automata.pattern import parse_pattern
from grammars.cfg import part_characters
from grammars.cfg.part_characters import PartCharacters, Prefix
from grammars.cfg.spelling import JSON_CONTENT, UTF8, any_character
from grammars.cfg.terminals import terminal_dfa
from grammars.errors import LimitExceededError
from tests.fuzz.budget import examples

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa
    from grammars.cfg.spelling import Spelling

TERMINALS = [
    "a*",
    "[a-é]+",
    "[éèà]{0,3}",
    "é|€x",
    "[^a]*",
    "[€-₿]+",
    "[😀-😂]*é",
    '"?\\n+',
    "[ -~]+",
]


def lexer(patterns: list[str], spelling: Spelling) -> Dfa:
    """The terminals at once; label i + 1: some set of them has ended, the i-th that was met."""
    builder = LexerBuilder(10_000)
    for number, pattern in enumerate(patterns):
        terminal = terminal_dfa(parse_pattern(pattern), spelling, max_states=10_000)
        builder.accept(builder.embed(LexerBuilder.start, terminal), number)
    return builder.determinise().dfa


class PlainSearch:
    """The same as `PartCharacters`, one byte of one state at a time."""

    def __init__(self, dfa: Dfa, spelling: Spelling) -> None:
        self._dfa = dfa
        self._character = terminal_dfa(any_character(), spelling, max_states=100)
        self._known: dict[tuple[int, int], bool] = {}

    def step(self, state: int, prefix: Prefix | None, byte: int) -> tuple[int, Prefix | None]:
        """The state after a byte that is read there, and what it remembers."""
        target = self._dfa.step(state, byte)
        label = int(self._dfa.label[state]) if prefix is None else prefix.label
        data = (b"" if prefix is None else prefix.data) + bytes([byte])
        character = self._character.run(data)
        is_inside = character != DEAD and self._character.label[character] == NO_LABEL
        if label == NO_LABEL or not is_inside or self._goes_on(target, character):
            return target, None
        return target, Prefix(label, data)

    def _goes_on(self, state: int, character: int) -> bool:
        if self._character.label[character] != NO_LABEL:
            return True
        if (state, character) not in self._known:
            self._known[state, character] = all(
                (target := self._dfa.step(state, byte)) != DEAD and self._goes_on(target, after)
                for byte in range(NUM_BYTES)
                if (after := self._character.step(character, byte)) != DEAD
            )
        return self._known[state, character]


def with_prefixes(dfa: Dfa, spelling: Spelling) -> part_characters.Told | None:
    parts = PartCharacters(spelling, 10_000)
    classes = dfa.symbol_class[:NUM_BYTES].astype(np.int32)
    return parts.with_prefixes(dfa.next_state, dfa.label, classes)


@examples(20)
@given(
    st.lists(st.sampled_from(TERMINALS), min_size=1, max_size=3, unique=True),
    st.sampled_from([UTF8, JSON_CONTENT]),
)
def test_they_are_those_of_a_plain_search(patterns, spelling):
    dfa = lexer(patterns, spelling)
    told = with_prefixes(dfa, spelling)
    plain = PlainSearch(dfa, spelling)
    place: tuple[int, Prefix | None] = (dfa.start, None)
    pending = [(dfa.start, place)]
    seen = set(pending)
    remembered = set()
    for ours, (state, prefix) in pending:
        if told is not None:
            meaning = prefix if prefix is None else told.prefixes.index(prefix)
            expected = dfa.label[state] if meaning is None else dfa.label.max() + 1 + meaning
            assert told.labels[ours] == expected
        table = dfa.next_state[:, dfa.symbol_class] if told is None else told.next_state
        assert ((table[ours] != DEAD) == (dfa.next_state[state, dfa.symbol_class] != DEAD)).all()
        for byte in np.flatnonzero(table[ours]).tolist():
            following = plain.step(state, prefix, byte)
            remembered.add(following[1])
            pair = (int(table[ours, byte]), following)
            if pair not in seen:
                seen.add(pair)
                pending.append(pair)
    assert (told is None) == (remembered <= {None})


def test_a_lexer_of_too_many_such_states_is_refused(monkeypatch):
    dfa = lexer(["[éèà]+"], UTF8)
    monkeypatch.setattr(part_characters, "MAX_ROWS", dfa.num_states)
    with pytest.raises(LimitExceededError) as caught:
        with_prefixes(dfa, UTF8)
    assert str(caught.value) == (
        f"a lexer of whole characters needs more than max_states={dfa.num_states}; "
        "simplify it or raise the limit"
    )
