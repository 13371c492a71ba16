"""Lengths: how long the texts of a language are, and whether a counter can bound them exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.kernels import edges_into, kernel

if TYPE_CHECKING:
    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.kernels import Bools, Ints

_PLAIN_ASCII: Final = (0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E)
"""Characters that a JSON string holds as one byte."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths that texts of a language can have, in characters.

    Args:
        shortest: of the shortest text.
        longest: of the longest one; None where there is none.
    """

    shortest: int
    longest: int | None


def lengths_of(next_state: Ints, accepting: Bools, start: int) -> Lengths:
    """The lengths of the texts of a trimmed automaton that is not empty, see `CodePointDfa`."""
    rest, longest = measure(next_state, accepting)
    return Lengths(int(rest[start]), None if longest[start] < 0 else int(longest[start]))


def can_be_counted(dfa: CodePointDfa, minimum: int, maximum: int | None) -> bool:
    """Whether a character counter beside the automaton makes the bounds exact, without dead ends.

    The counter refuses what leaves no room for the shortest way to the end (`owed`), and an end too
    early. Where it may be too early, a text must be able to go on for ever, and by one byte at a
    time where it may end (`LexerWays`).

    Args:
        dfa: a language that is not empty.
        minimum: characters at least.
        maximum: characters at most; None is no bound.
    """
    if maximum is not None and minimum > maximum:
        return False
    rest, longest = measure(dfa.next_state, dfa.accepting)
    if maximum is not None and rest[dfa.start] > maximum:
        return False
    if minimum <= rest[dfa.start]:
        return True
    plain = [number for span in _PLAIN_ASCII for number in _classes_of(dfa, *span)]
    grows = (dfa.next_state[:, plain] == np.arange(dfa.num_states)[:, None]).any(axis=1)
    return bool(((longest < 0) & (grows | ~dfa.accepting))[1:].all())


def _classes_of(dfa: CodePointDfa, low: int, high: int) -> list[int]:
    """The classes of the characters low .. high."""
    first, last = np.searchsorted(dfa.range_start, (low, high), side="right") - 1
    return sorted(set(dfa.range_class[first : last + 1].tolist()))


@kernel
def measure(next_state: Ints, accepting: Bools) -> tuple[Ints, Ints]:
    """What the ways through each state of a trimmed automaton are like.

    Returns:
        The characters of its shortest way to the end; those of its longest way, -1 where there are
        ways of any length.
    """
    num_states, num_classes = next_state.shape
    first, tail = edges_into(next_state)
    rest = np.full(num_states, -1, np.int32)
    queue = np.empty(num_states, np.int32)
    num_queued = 0
    for s in range(1, num_states):
        if accepting[s]:
            rest[s] = 0
            queue[num_queued] = s
            num_queued += 1
    at = 0
    while at < num_queued:
        s = queue[at]
        at += 1
        for i in range(first[s], first[s + 1]):
            if rest[tail[i]] < 0:
                rest[tail[i]] = rest[s] + 1
                queue[num_queued] = tail[i]
                num_queued += 1

    # States are taken once all states after them are (A. B. Kahn, 1962): never on or before a loop.
    longest = np.zeros(num_states, np.int32)
    num_open = np.zeros(num_states, np.int32)
    num_taken = 0
    for s in range(1, num_states):
        for c in range(1, num_classes):
            if next_state[s, c] != 0:
                num_open[s] += 1
        if num_open[s] == 0:
            queue[num_taken] = s
            num_taken += 1
    at = 0
    while at < num_taken:
        s = queue[at]
        at += 1
        for i in range(first[s], first[s + 1]):
            longest[tail[i]] = max(longest[tail[i]], longest[s] + 1)
            num_open[tail[i]] -= 1
            if num_open[tail[i]] == 0:
                queue[num_taken] = tail[i]
                num_taken += 1
    for s in range(1, num_states):
        if num_open[s] > 0:
            longest[s] = -1
    return rest, longest
