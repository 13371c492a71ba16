"""What can be reached in an automaton: labels from each state, states from its start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import NUM_BYTES
from grammars.automata.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Ints

_NUM_BITS = 63


@kernel
def reachable_labels(next_state: Ints, label: Ints) -> NDArray[np.int64]:
    """Bit l - 1 is set where label l can be reached or is the own: int64, (num_states,).

    Args:
        next_state: int32, (num_states, num_classes), as in `Dfa`.
        label: int32, (num_states,); those past 63 are left out.
    """
    num_states, num_classes = next_state.shape
    reach = np.zeros(num_states, np.int64)
    has_changed = True
    while has_changed:  # few rounds: most edges lead to states with greater numbers
        has_changed = False
        for state in range(num_states - 1, 0, -1):
            labels = reach[state]
            if 0 < label[state] <= _NUM_BITS:
                labels |= np.int64(1) << np.int64(label[state] - 1)
            for column in range(1, num_classes):
                labels |= reach[next_state[state, column]]
            if labels != reach[state]:
                reach[state] = labels
                has_changed = True
    return reach


@kernel
def label_spans(next_state: Ints, label: Ints, least: int) -> Ints:
    """The first and the last label from `least` on that can be reached or is the own, less `least`.

    Args:
        next_state: int32, (num_states, num_classes), as in `Dfa`.
        label: int32, (num_states,).
        least: labels before it are left out.

    Returns:
        int32, (num_states, 2); 1 and 0 where there is none.
    """
    num_states, num_classes = next_state.shape
    spans = np.zeros((num_states, 2), np.int32)
    for state in range(num_states):
        spans[state, 0] = 1
    has_changed = True
    while has_changed:
        has_changed = False
        for state in range(num_states - 1, 0, -1):
            first, last = spans[state, 0], spans[state, 1]
            if label[state] >= least:
                own = np.int32(label[state] - least)
                is_empty = first > last
                first = own if is_empty else min(first, own)
                last = own if is_empty else max(last, own)
            for column in range(1, num_classes):
                target = next_state[state, column]
                if spans[target, 0] <= spans[target, 1]:
                    is_empty = first > last
                    first = spans[target, 0] if is_empty else min(first, spans[target, 0])
                    last = spans[target, 1] if is_empty else max(last, spans[target, 1])
            if first != spans[state, 0] or last != spans[state, 1]:
                spans[state, 0], spans[state, 1] = first, last
                has_changed = True
    return spans


@kernel
def first_ways(next_state: Ints, symbol_class: NDArray[np.uint16], start: int) -> Ints:
    """The state before each one on a shortest way from the start, and the byte that leads on.

    int32, (num_states, 2).
    """
    ways = np.zeros((len(next_state), 2), np.int32)
    is_found = np.zeros(len(next_state), np.bool_)
    is_found[0] = is_found[start] = True
    order = np.empty(len(next_state), np.int32)
    order[0] = start
    num_found = 1
    at = 0
    while at < num_found:
        for byte in range(NUM_BYTES):
            target = next_state[order[at], symbol_class[byte]]
            if not is_found[target]:
                is_found[target] = True
                ways[target, 0], ways[target, 1] = order[at], byte
                order[num_found] = target
                num_found += 1
        at += 1
    return ways
