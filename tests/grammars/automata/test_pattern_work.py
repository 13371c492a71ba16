"""What a pattern costs grows as its text does, however deep it is nested: work is counted."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from grammars.automata.pattern_dfa import fullmatch
from grammars.automata.subset import Nfa, determinise
from grammars.errors import LimitExceededError

NUM_GROUPS = 960


def num_calls(pattern):
    """Python functions that are called while an automaton is made."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        fullmatch(pattern)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("core", "end"),
    [("a", "|b)*"), ("a", "|b)?"), ("a", "b)+"), ("a", ")+|b"), ("^", "|b)*"), ("^", "|a){0,1}")],
)
def test_deep_groups_cost_no_more_than_shallow_ones(core, end):
    shallow, deep = (
        ("(" * depth + core + end * depth) * (NUM_GROUPS // depth) for depth in (4, 96)
    )
    fullmatch(shallow)
    assert num_calls(deep) < 1.5 * num_calls(shallow)


@pytest.mark.parametrize("quantifier", ["+", "{1,}"])
def test_a_repetition_in_repetitions_is_not_copied_for_each(quantifier):
    dfa = fullmatch("(" * 90 + "a" + f"b){quantifier}" * 90, max_states=200)
    assert dfa.accepts("a" + "b" * 90)
    assert dfa.accepts("a" + "b" * 3 + "a" + "b" * 90)
    assert not dfa.accepts("a" + "b" * 89)


@pytest.mark.parametrize(
    "pattern", ["(^){1000000000}a", "(){1000000000}a", "(?=a){2,}a", "((a{0}){9}){1000000000}a"]
)
def test_what_reads_nothing_is_as_good_as_once(pattern):
    dfa = fullmatch(pattern)
    assert dfa.accepts("a")
    assert not dfa.accepts("aa")


def silent_chain(length):
    """An automaton that reads `0`s behind so many steps that read nothing."""
    steps = np.arange(length, dtype=np.int32)
    zero, last = np.zeros(1, np.int32), np.array([length], np.int32)
    accepting = np.arange(length + 1) == length
    return Nfa(length + 1, 0, steps, steps + 1, last, zero, zero, zero, accepting, 1)


def test_steps_that_read_nothing_are_counted_too():
    table = determinise(silent_chain(800), max_states=10, max_steps=110, what="a chain")
    assert table.next_state.shape == (2, 1)
    with pytest.raises(LimitExceededError):
        determinise(silent_chain(8000), max_states=10, max_steps=110, what="a chain")
