"""reachable_labels: which labels can still be read from each state of an automaton."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Ints


@kernel
def reachable_labels(next_state: Ints, label: Ints) -> NDArray[np.int64]:
    """Bit l - 1 is set where label l can be reached or is the own: int64, (num_states,).

    Args:
        next_state: int32, (num_states, num_classes), as in `Dfa`.
        label: int32, (num_states,), at most 63.
    """
    num_states, num_classes = next_state.shape
    reach = np.zeros(num_states, np.int64)
    has_changed = True
    while has_changed:  # few rounds: most edges lead to states with greater numbers
        has_changed = False
        for state in range(num_states - 1, 0, -1):
            labels = reach[state]
            if label[state] != 0:
                labels |= np.int64(1) << np.int64(label[state] - 1)
            for column in range(1, num_classes):
                labels |= reach[next_state[state, column]]
            if labels != reach[state]:
                reach[state] = labels
                has_changed = True
    return reach
