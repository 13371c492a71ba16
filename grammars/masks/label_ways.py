"""LabelWays: the shortest texts from all states of an automaton to each of a few labels.

What `LexerWays` finds state by state, of equally short texts the first in order of bytes, is one
forest for each label: a mask of a list of a thousand strings asks for hundreds of states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.dfa import DEAD, NUM_BYTES
from grammars.automata.kernels import kernel
from grammars.masks.string_costs import tokens_of_way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.automata.kernels import Ints
    from grammars.masks.trie import Trie

_MOST_LABELS: Final = 8
_FEWEST_STATES: Final = 64


class _Forest(NamedTuple):
    """The ways to one label.

    Attributes:
        distance: int32, (num_states,); bytes to the label, below 0 where it is not reached.
        byte: uint8, (num_states,); the next one.
        following: int32, (num_states,); the state after it, 0 at the end of the way.
        fewest: int32, (num_states,); tokens of the way, 0 where they are not known.
    """

    distance: Ints
    byte: NDArray[np.uint8]
    following: Ints
    fewest: Ints


class LabelWays:
    """Finds ways in one automaton for which `is_for` is true.

    Args:
        dfa: the automaton.
        trie: of the tokens.
    """

    def __init__(self, dfa: Dfa, trie: Trie) -> None:
        self._trie = trie
        self._forests = {
            label: _Forest(
                *_ways_to(dfa.next_state, dfa.symbol_class, dfa.label, label),
                np.zeros(dfa.num_states, np.int32),
            )
            for label in range(1, int(dfa.label.max()) + 1)
        }

    @staticmethod
    def is_for(dfa: Dfa) -> bool:
        """Whether an automaton has few labels, many states, no counted characters, no controls."""
        return (
            dfa.num_states >= _FEWEST_STATES
            and int(dfa.label.max()) <= _MOST_LABELS
            and dfa.num_ends is None
            and len(dfa.symbol_class) <= NUM_BYTES
            and not dfa.char_boundary.any()
        )

    def find(self, state: int) -> Iterator[tuple[int, int]]:
        """The labels that can be reached from a state, and the fewest tokens of the ways there."""
        for label, (distance, byte, following, fewest) in self._forests.items():
            if distance[state] == 0:
                yield label, 0
            elif distance[state] > 0:
                nodes, _, children = self._trie
                yield label, tokens_of_way(state, byte, following, fewest, nodes, children)


@kernel
def _ways_to(
    next_state: Ints, symbol_class: NDArray[np.uint16], label: Ints, wanted: int
) -> tuple[Ints, NDArray[np.uint8], Ints]:
    """`_Forest.distance`, `.byte` and `.following`."""
    num_states, num_classes = next_state.shape
    first_byte = np.full(num_classes, NUM_BYTES, np.int32)
    for symbol in range(len(symbol_class) - 1, -1, -1):
        first_byte[symbol_class[symbol]] = symbol
    distance = np.full(num_states, -1, np.int32)
    byte = np.zeros(num_states, np.uint8)
    following = np.zeros(num_states, np.int32)
    for state in range(1, num_states):
        if label[state] == wanted:
            distance[state] = 0
    has_changed = True
    ascends = False
    while has_changed:  # few rounds: most steps lead to greater numbers, or most to lesser ones
        has_changed = False
        ascends = not ascends
        for k in range(1, num_states):
            state = k if ascends else num_states - k
            for column in range(num_classes):
                target = next_state[state, column]
                if distance[target] < 0 or first_byte[column] == NUM_BYTES:
                    continue
                num_bytes = distance[target] + 1
                is_nearer = distance[state] < 0 or num_bytes < distance[state]
                is_first = num_bytes == distance[state] and first_byte[column] < byte[state]
                if is_nearer or is_first:
                    distance[state], byte[state] = num_bytes, first_byte[column]
                    following[state] = DEAD if distance[target] == 0 else target
                    has_changed = True
    return distance, byte, following
