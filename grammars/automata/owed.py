"""characters_owed: how many characters a counted string needs at least, from each state on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import DEAD, NO_LABEL
from grammars.automata.kernels import edges_into, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.automata.kernels import Bools, Ints


def characters_owed(dfa: Dfa) -> NDArray[np.int32]:
    """The characters that are counted on the way to the nearest label.

    A string of at most n characters may go into a state as long as those counted and those owed
    there are not more than n: then some way to its end is left, and only then.

    Returns:
        int32, (num_states,); 0 for DEAD and where nothing is counted.
    """
    accepting = dfa.label != NO_LABEL
    is_closed = accepting & ~np.any(dfa.next_state != DEAD, axis=1)
    if is_closed[dfa.next_state[dfa.char_boundary]].any(axis=1).all():
        return np.zeros(dfa.num_states, np.int32)  # wherever a character has ended, the string may
    return _owed(dfa.next_state, accepting, is_closed, dfa.char_boundary)


@kernel
def _owed(next_state: Ints, accepting: Bools, is_closed: Bools, is_boundary: Bools) -> Ints:
    """A breadth-first search from the labels back, layer by layer of equally many characters."""
    num_states = next_state.shape[0]
    first, tail = edges_into(next_state)
    owed = np.full(num_states, -1, np.int32)
    owed[0] = 0
    layer = np.empty(num_states, np.int32)
    after = np.empty(num_states, np.int32)  # states that owe one character more
    is_after = np.zeros(num_states, np.bool_)
    num_layer = 0
    for s in range(1, num_states):
        if accepting[s]:
            owed[s] = 0
            layer[num_layer] = s
            num_layer += 1
    characters = 0
    while num_layer > 0:
        num_after = 0
        at = 0
        while at < num_layer:
            s = layer[at]
            at += 1
            for i in range(first[s], first[s + 1]):
                t = tail[i]
                if owed[t] >= 0:
                    continue
                if is_boundary[t] and not is_closed[s]:
                    if not is_after[t]:
                        is_after[t] = True
                        after[num_after] = t
                        num_after += 1
                else:
                    owed[t] = characters
                    layer[num_layer] = t
                    num_layer += 1
        characters += 1
        num_layer = 0
        for i in range(num_after):
            if owed[after[i]] < 0:  # else it was reached without a character since
                owed[after[i]] = characters
                layer[num_layer] = after[i]
                num_layer += 1
    return owed
