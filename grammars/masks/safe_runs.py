"""safe_runs: how far an automaton can read certain characters, whichever they are, and go on.

From an open string most characters lead back to it. Strings of such characters need not be read one
by one to know that they can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from grammars.automata.character_groups import FIRST_LEAD_GROUP, GROUP_OF_BYTE, LEADS
from grammars.automata.dfa import NUM_BYTES
from grammars.automata.kernels import edges_into, helper, kernel, open_states, usual_target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.automata.kernels import Bools, Ints

_MAX_CELLS: Final = 1 << 20
"""Entries of the table of an automaton that is looked at. In a larger one runs cost more than to
walk past all tokens, and the next of its states often has other usual characters."""

ENDLESS: Final = np.int32(2**30)
"""A run without end."""


class SafeRuns(NamedTuple):
    """Where characters of some groups can be read in any order.

    Attributes:
        groups: bits of the groups (see `Subtrees.groups`) that are safe.
        runs: int32, (num_states,): from state q, all strings of at most `runs[q]` safe characters,
            the last of them perhaps cut off, can be read, fire no label, count all of their
            characters or none, and owe (`characters_owed`) as many as q.
    """

    groups: int
    runs: Ints


_known: Final[WeakKeyDictionary[Dfa, SafeRuns]] = WeakKeyDictionary()
"""The last ones of each automaton: the next state is often of the same string."""


def find_safe_runs(dfa: Dfa, state: int, owed: Ints) -> SafeRuns:
    """Runs of the usual characters: those that lead on as most do, past the first of them.

    None at all in a very large automaton.

    Args:
        dfa: the automaton.
        state: a live state.
        owed: of the automaton, see `characters_owed`.
    """
    if dfa.next_state.size > _MAX_CELLS:
        return SafeRuns(0, np.zeros(dfa.num_states, np.int32))
    automaton = (dfa.next_state, dfa.symbol_class, dfa.label, dfa.char_boundary, owed)
    groups = int(_usual_groups(*automaton, state, GROUP_OF_BYTE, LEADS))
    known = _known.get(dfa)
    if known is None or known.groups != groups:
        known = SafeRuns(groups, _runs(*automaton, groups, GROUP_OF_BYTE, LEADS))
        _known[dfa] = known
    return known


@kernel
def _usual_groups(
    next_state: Ints,
    symbol_class: NDArray[np.uint16],
    label: Ints,
    is_boundary: Bools,
    owed: Ints,
    start: int,
    group_of_byte: NDArray[np.uint8],
    leads: Ints,
) -> np.int64:
    """`SafeRuns.groups`: of the characters that all lead where most bytes lead."""
    state = usual_target(start, next_state, symbol_class, NUM_BYTES)
    usual = usual_target(state, next_state, symbol_class, NUM_BYTES)
    groups = np.int64(0)
    if usual == 0:
        return groups
    for byte in range(0x80):
        groups |= np.int64(1) << np.int64(group_of_byte[byte])
    for byte in range(0x80):
        if next_state[state, symbol_class[byte]] != usual:
            groups &= ~(np.int64(1) << np.int64(group_of_byte[byte]))
    is_open = open_states(next_state, label)
    ways, num_ways = _ways_of(leads, symbol_class)
    for row in range(len(leads)):
        if usual == _after_any(
            state, next_state, is_open, is_boundary, owed, ways[row], num_ways[row], leads[row, 4]
        ):
            groups |= np.int64(1) << np.int64(FIRST_LEAD_GROUP + row)
    return groups


@kernel
def _runs(
    next_state: Ints,
    symbol_class: NDArray[np.uint16],
    label: Ints,
    is_boundary: Bools,
    owed: Ints,
    groups: int,
    group_of_byte: NDArray[np.uint8],
    leads: Ints,
) -> Ints:
    """`SafeRuns.runs`, by a breadth-first search back from the states that a character may end."""
    num_states, num_classes = next_state.shape
    is_open = open_states(next_state, label)
    ways, num_ways = _ways_of(leads, symbol_class)
    is_safe_class = np.zeros(num_classes, np.bool_)
    for byte in range(0x80):
        if (groups >> np.int64(group_of_byte[byte])) & 1:
            is_safe_class[symbol_class[byte]] = True
    after_later = _after_later_bytes(next_state, is_open, is_boundary, owed, ways, num_ways)
    known = np.full((len(leads), num_states), -1, np.int32)
    is_counted = False
    for s in range(1, num_states):
        is_counted |= is_boundary[s]
    table = np.zeros((num_states, num_classes + len(leads)), np.int32)
    runs = np.full(num_states, ENDLESS, np.int32)
    runs[0] = 0
    order = np.empty(num_states, np.int32)
    num_found = 0
    for s in range(1, num_states):
        is_end = is_counted and not is_boundary[s]
        for c in range(1, num_classes):
            if is_safe_class[c] and not is_end:
                target = next_state[s, c]
                table[s, c] = target
                is_end = not is_open[target] or owed[target] != owed[s]
        for row in range(len(leads)):
            if (groups >> np.int64(FIRST_LEAD_GROUP + row)) & 1 and not is_end:
                target = _after_lead(
                    s, next_state, is_open, is_boundary, owed, ways[row], num_ways[row],
                    leads[row, 4], after_later, known[row],
                )  # fmt: skip
                table[s, num_classes + row] = target
                is_end = target == 0
        if is_end:
            runs[s] = 0
            order[num_found] = s
            num_found += 1
    first, tail = edges_into(table)
    at = 0
    while at < num_found:
        s = order[at]
        at += 1
        for i in range(first[s], first[s + 1]):
            before = tail[i]
            if runs[before] == ENDLESS:
                runs[before] = runs[s] + 1
                order[num_found] = before
                num_found += 1
    return runs


@helper
def _ways_of(leads: Ints, symbol_class: NDArray[np.uint16]) -> tuple[NDArray[np.int32], Ints]:
    """For each row of `LEADS` the classes of first, second and later bytes, and how many."""
    ways = np.zeros((len(leads), 3, 64), np.int32)
    num_ways = np.zeros((len(leads), 3), np.int32)
    for row in range(len(leads)):
        _list_classes(symbol_class, leads[row, 0], leads[row, 1], ways[row, 0], num_ways[row], 0)
        _list_classes(symbol_class, leads[row, 2], leads[row, 3], ways[row, 1], num_ways[row], 1)
        _list_classes(symbol_class, np.int32(0x80), np.int32(0xBF), ways[row, 2], num_ways[row], 2)
    return ways, num_ways


@helper
def _list_classes(
    symbol_class: NDArray[np.uint16],
    low: np.int32,
    high: np.int32,
    classes: Ints,
    counts: Ints,
    place: int,
) -> None:
    """The classes of the bytes from low to high, each once."""
    for byte in range(low, high + 1):
        c = symbol_class[byte]
        is_known = False
        for i in range(counts[place]):
            is_known |= classes[i] == c
        if not is_known:
            classes[counts[place]] = c
            counts[place] += 1


@helper
def _after_later_bytes(
    next_state: Ints, is_open: Bools, is_boundary: Bools, owed: Ints, ways: Ints, num_ways: Ints
) -> Ints:
    """int32, (2, num_states): as `_after_any`, from within a character, one or two bytes before.

    For all states at once: those within characters are shared by many.
    """
    after = np.zeros((2, len(next_state)), np.int32)
    for num_left in range(2):
        for state in range(1, len(next_state)):
            for i in range(num_ways[0, 2]):
                found = next_state[state, ways[0, 2, i]]
                if not is_open[found] or owed[found] != owed[state]:
                    found = np.int32(0)
                elif num_left > 0:
                    found = np.int32(0) if is_boundary[found] else after[0, found]
                if found == 0 or (i > 0 and found != after[num_left, state]):
                    after[num_left, state] = 0
                    break
                after[num_left, state] = found
    return after


@helper
def _after_lead(
    state: int,
    next_state: Ints,
    is_open: Bools,
    is_boundary: Bools,
    owed: Ints,
    ways: Ints,
    num_ways: Ints,
    num_following: int,
    after_later: Ints,
    known: Ints,
) -> int:
    """The same as `_after_any`.

    Args:
        state: as there, and so are the next seven.
        next_state: see there.
        is_open: see there.
        is_boundary: see there.
        owed: see there.
        ways: see there.
        num_ways: see there.
        num_following: see there.
        after_later: see `_after_later_bytes`.
        known: int32, (num_states,), -1 or where any character leads of whose first byte a state
            comes; filled here.
    """
    after = np.int32(0)
    for i in range(num_ways[0]):
        first = next_state[state, ways[0, i]]
        if not is_open[first] or owed[first] != owed[state] or is_boundary[first]:
            return 0
        if known[first] < 0:
            known[first] = 0
            for k in range(num_ways[1]):
                found = next_state[first, ways[1, k]]
                if not is_open[found] or owed[found] != owed[first]:
                    found = np.int32(0)
                elif num_following > 1:
                    left = num_following - 2
                    found = np.int32(0) if is_boundary[found] else after_later[left, found]
                if found == 0 or (k > 0 and found != known[first]):
                    known[first] = 0
                    break
                known[first] = found
        if known[first] == 0 or (after != 0 and known[first] != after):
            return 0
        after = known[first]
    return int(after)


@helper
def _after_any(
    state: int,
    next_state: Ints,
    is_open: Bools,
    is_boundary: Bools,
    owed: Ints,
    ways: Ints,
    num_ways: Ints,
    num_following: int,
) -> int:
    """The state after any character of a row of `LEADS`; 0 where some lead elsewhere or nowhere.

    Args:
        state: the state before it.
        next_state: see `Dfa`.
        is_open: of states, see `open_states`.
        is_boundary: see `Dfa.char_boundary`.
        owed: see `characters_owed`.
        ways: (3, 64), the classes of first, second and later bytes.
        num_ways: (3,), how many those are.
        num_following: bytes after the first.
    """
    after = 0
    path = np.zeros(4, np.int32)
    taken = np.zeros(4, np.int32)  # how many ways have been taken at each byte
    path[0] = state
    depth = 0
    while depth >= 0:
        place = min(depth, 2)
        if taken[depth] == num_ways[place]:
            depth -= 1
            continue
        target = next_state[path[depth], ways[place, taken[depth]]]
        taken[depth] += 1
        if not is_open[target] or owed[target] != owed[state]:
            return 0
        if depth == num_following:
            if after != 0 and after != target:
                return 0
            after = int(target)
        else:
            if is_boundary[target]:
                return 0
            depth += 1
            path[depth] = target
            taken[depth] = 0
    return after
