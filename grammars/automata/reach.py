"""reachable_labels, label_spans: the labels that each state of an automaton can still read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
