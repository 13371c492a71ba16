"""safe_runs: how far an automaton can read certain symbols, whichever they are, and go on.

From an open string most symbols lead back to it. Strings of such symbols need not be read one by
one to know that they can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.automata.kernels import edges_into, kernel
from grammars.masks.subtrees import GROUP_OF_BYTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.automata.kernels import Bools, Ints

ENDLESS: Final = np.int32(2**30)
"""A run without end."""


class SafeRuns(NamedTuple):
    """Where symbols of some groups can be read in any order.

    Attributes:
        groups: bits of the groups (see `Subtrees.groups`) that are safe.
        runs: int32, (num_states,): from state q, every string of at most `runs[q]` safe symbols can
            be read, fires no label, counts all of its symbols as characters or none, and owes
            (`characters_owed`) as many as q.
    """

    groups: int
    runs: NDArray[np.int32]


def find_safe_runs(dfa: Dfa, state: int, owed: NDArray[np.int32]) -> SafeRuns:
    """Runs of the symbols that lead from a state to where most of them lead.

    Args:
        dfa: the automaton.
        state: a live state.
        owed: of the automaton, see `characters_owed`.
    """
    targets = dfa.next_state[state][dfa.symbol_class[: len(GROUP_OF_BYTE)]]
    counts = np.bincount(targets)
    counts[DEAD] = 0
    is_unsafe = targets != counts.argmax()
    unsafe = np.bitwise_or.reduce(np.int64(1) << GROUP_OF_BYTE[is_unsafe].astype(np.int64))
    is_safe_class = np.zeros(dfa.next_state.shape[1], np.bool_)
    groups = int(~unsafe) & int(_ALL_GROUPS)
    safe = (groups >> GROUP_OF_BYTE.astype(np.int64)) & 1
    is_safe_class[dfa.symbol_class[: len(GROUP_OF_BYTE)][safe != 0]] = True
    return SafeRuns(
        groups, _runs(dfa.next_state, dfa.label, dfa.char_boundary, owed, is_safe_class)
    )


_ALL_GROUPS: Final = np.bitwise_or.reduce(np.int64(1) << np.unique(GROUP_OF_BYTE).astype(np.int64))


@kernel
def _runs(
    next_state: Ints, label: Ints, is_boundary: Bools, owed: Ints, is_safe_class: Bools
) -> Ints:
    """`SafeRuns.runs`, by a breadth-first search back from the states that a symbol may end at."""
    num_states, num_classes = next_state.shape
    table = np.zeros((num_states, num_classes), np.int32)  # of safe classes, others are dead
    is_closed = np.zeros(num_states, np.bool_)
    is_counted = False
    for s in range(1, num_states):
        is_closed[s] = label[s] != 0
        is_counted |= is_boundary[s]
        for c in range(1, num_classes):
            if next_state[s, c] != 0:
                is_closed[s] = False
    runs = np.full(num_states, ENDLESS, np.int32)
    order = np.empty(num_states, np.int32)
    num_found = 0
    runs[0] = 0
    for s in range(1, num_states):
        is_end = is_counted and not is_boundary[s]
        for c in range(1, num_classes):
            if is_safe_class[c]:
                target = next_state[s, c]
                table[s, c] = target
                is_end |= target == 0 or is_closed[target] or owed[target] != owed[s]
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
