"""What terminals have in common is what their texts say, compared one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.automata.pattern import parse_pattern
from grammars.cfg import overlaps
from grammars.cfg.overlaps import Overlaps
from grammars.cfg.spelling import Letters
from grammars.cfg.terminals import terminal_dfa
from grammars.errors import LimitExceededError
from tests.fuzz.budget import examples

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa

LETTERS = Letters([parse_pattern("[a]|[b]")])
LETTER_OF = {letter: LETTERS.word(ord(letter))[0] for letter in "ab"}


def terminal(words: set[str]) -> Dfa:
    node = parse_pattern("|".join(sorted(words)))
    return terminal_dfa(node, LETTERS, max_states=1_000)


@examples(100)
@given(st.lists(st.sets(st.text("ab", min_size=1, max_size=4), min_size=1), min_size=2, max_size=5))
def test_they_are_those_of_the_texts(languages):
    found = Overlaps([terminal(words) for words in languages]).of(2 ** len(languages) - 1)
    for one, words in enumerate(languages):
        reads_on = {
            longer[len(word)]
            for word in words
            for longer in set().union(*languages)
            if longer.startswith(word) and longer != word
        }
        assert found.reads_on[one] == sum(1 << LETTER_OF[letter] for letter in reads_on)
    same_text = {
        tuple(i for i, words in enumerate(languages) if word in words)
        for word in set().union(*languages)
    }
    assert set(found.same_text) == {numbers for numbers in same_text if len(numbers) > 1}


def test_only_those_of_the_set_are_compared():
    terminals = [terminal({"a"}), terminal({"ab"}), terminal({"aa"})]
    found = Overlaps(terminals)
    assert found.of(0b011).reads_on == {0: 1 << LETTER_OF["b"], 1: 0}
    assert found.of(0b101).reads_on == {0: 1 << LETTER_OF["a"], 2: 0}


def test_the_work_is_bounded(monkeypatch):
    terminals = [terminal({"a"}), terminal({"ab"}), terminal({"aa"})]
    monkeypatch.setattr(overlaps, "MAX_COMPARED_STATES", 6)  # each set needs 4, DEAD counted in
    found = Overlaps(terminals)
    found.of(0b011)
    found.of(0b011)
    with pytest.raises(LimitExceededError, match="max_compared_states"):
        found.of(0b101)
