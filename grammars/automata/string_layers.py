"""StringLayers: the states of a string by the number of characters read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.kernels import grown, grown_rows, helper, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.edges import Edges
    from grammars.automata.kernels import Ints

ANY_NUMBER: Final = 2**31 - 1

_NO_BOUND: Final = -1


class StringLayers(NamedTuple):
    """The pairs (state, characters read) of a string, as far as it can end from there.

    Attributes:
        states: int32, (num_pairs,); of the content. Pair 0 is DEAD and pair 1 the start.
        first: int32, (length + 2,); pairs first[n] .. first[n + 1] - 1 are after n characters.
        next_state: int32, (first[length], num_classes); pairs. Those after `length` characters, the
            last ones, have no rows: they lead nowhere.
    """

    states: NDArray[np.int32]
    first: NDArray[np.int32]
    next_state: NDArray[np.int32]

    @property
    def length(self) -> int:
        """Characters that are read at most."""
        return len(self.first) - 2

    @property
    def left(self) -> NDArray[np.int32]:
        """The states of the content after that; none if all strings have ended."""
        return self.states[self.first[-2] :]

    @property
    def number(self) -> NDArray[np.int64]:
        """int64, (num_pairs,): the characters read."""
        return np.searchsorted(self.first, np.arange(len(self.states)), side="right") - 1


def string_layers(
    edges: Edges,
    num_classes: int,
    start: int,
    max_length: int,
    max_pairs: int = ANY_NUMBER,
    *,
    most: int | None = None,
    shortest: NDArray[np.int32] | None = None,
) -> StringLayers:
    """The layers of a string.

    Args:
        edges: of its automaton.
        num_classes: symbols of the edges are 1 .. num_classes - 1.
        start: where the string begins.
        max_length: characters at most, at least 1.
        max_pairs: pairs at most, unless the first character needs more.
        most: characters that the string may have at most; None is no bound.
        shortest: int32, (num_states,), with `most`; characters of the shortest way to the end.
    """
    bound = _NO_BOUND if most is None else most
    distance = np.zeros(0, np.int32) if shortest is None else shortest
    states, first, table, length = _unfold(
        *edges, num_classes, start, distance, bound, max_length, max_pairs
    )
    return StringLayers(
        states[: first[length + 1]].copy(),
        first[: length + 2].copy(),
        table[: first[length]].copy(),
    )


@helper
def _pair_slot(slots: Ints, states: Ints, state: int) -> int:
    """Where the last pair of a state is noted, or would be."""
    slot = (state * 0x9E3779B1) & (len(slots) - 1)
    while slots[slot] != 0 and states[slots[slot]] != state:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def _unfold(
    edge_first: Ints,
    edge_symbol: Ints,
    edge_target: Ints,
    num_classes: int,
    start: int,
    shortest: Ints,
    most: int,
    max_length: int,
    max_pairs: int,
) -> tuple[Ints, Ints, Ints, int]:
    """Go on while there are states, no more than `max_length` characters and `max_pairs` pairs.

    At least one character is read. A bound `most` below 0 is none.
    """
    capacity = 64
    states = np.zeros(capacity, np.int32)
    table = np.zeros((2, num_classes), np.int32)
    slots = np.zeros(4 * capacity, np.int32)  # the last pair of each state, by open addressing
    first = np.zeros(max_length + 2, np.int32)
    states[1] = start
    num_pairs = 2
    first[0] = 1
    first[1] = 2
    length = 0
    while length < max_length and first[length] < num_pairs and num_pairs <= max_pairs:
        length += 1
        if first[length] > len(table):
            table = grown_rows(table, max(first[length], 2 * len(table)))
        for pair in range(first[length - 1], first[length]):
            if num_pairs > max_pairs and length > 1:
                break
            for e in range(edge_first[states[pair]], edge_first[states[pair] + 1]):
                target = edge_target[e]
                if most >= 0 and length + shortest[target] > most:
                    continue
                slot = _pair_slot(slots, states, target)
                if slots[slot] < first[length]:  # none after as many characters
                    if num_pairs == capacity:
                        capacity *= 2
                        states = grown(states, capacity)
                        slots = np.zeros(4 * capacity, np.int32)
                        for known in range(1, num_pairs):
                            slots[_pair_slot(slots, states, states[known])] = known
                        slot = _pair_slot(slots, states, target)
                    states[num_pairs] = target
                    slots[slot] = num_pairs
                    num_pairs += 1
                table[pair, edge_symbol[e]] = slots[slot]
        first[length + 1] = num_pairs
    if num_pairs > max_pairs and length > 1:  # the last character was one too many
        length -= 1
    return states, first, table, length
