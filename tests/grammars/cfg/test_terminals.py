"""Terminals: the automaton of a word, written down, is the one that is constructed."""

from __future__ import annotations

import pytest

from grammars.automata.charset import CharSet
from grammars.automata.pattern_ast import Characters, Concatenation, Repetition
from grammars.cfg.spelling import JSON_CONTENT, UTF8, Letters
from grammars.cfg.terminals import terminal_dfa


def _word(text: str) -> Concatenation:
    return Concatenation(tuple(Characters(CharSet.of(character)) for character in text))


@pytest.mark.parametrize("text", ["a", "abab", "é", "aé😀a", '"\\\n', "\x00"])
@pytest.mark.parametrize("spelling", [UTF8, JSON_CONTENT, Letters([_word("abé😀")])])
def test_a_word_has_the_automaton_that_its_repetition_by_one_has(text, spelling):
    def build(node):
        return terminal_dfa(node, spelling, max_states=1000, missing_bytes=frozenset())

    if isinstance(spelling, Letters) and not set(text) <= set("abé😀"):
        spelling = Letters([_word(text)])
    written, constructed = build(_word(text)), build(Repetition(_word(text), 1, 1))
    assert written.num_states == constructed.num_states
    for symbols in ([], *(_symbols(text, spelling, size) for size in range(1, len(text) + 1))):
        states = [written.start, constructed.start]
        for symbol in symbols:
            states = [written.step(states[0], symbol), constructed.step(states[1], symbol)]
        assert written.label[states[0]] == constructed.label[states[1]]
        assert (states[0] == 0) == (states[1] == 0)


def _symbols(text, spelling, size):
    members = (CharSet.of(character) for character in text[:size])
    return [low for part in members for [*ranges] in spelling.sequences(part) for low, _ in ranges]
