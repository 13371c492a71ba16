"""Edges: the steps of an automaton as lists, for those that have many states or symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammars.automata.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Ints


class Edges(NamedTuple):
    """The steps that do not lead to DEAD.

    Args:
        first: int32, (num_states + 1,); those of state s are first[s] .. first[s + 1] - 1.
        symbol: int32, (num_edges,); ascending within a state.
        target: int32, (num_edges,).
    """

    first: NDArray[np.int32]
    symbol: NDArray[np.int32]
    target: NDArray[np.int32]

    @property
    def num_bytes(self) -> int:
        """The memory that they take."""
        return self.first.nbytes + self.symbol.nbytes + self.target.nbytes

    def table(
        self, state: NDArray[np.int32], num_states: int, num_symbols: int
    ) -> NDArray[np.int32]:
        """The table of the same automaton, int32, (num_states, num_symbols).

        Args:
            state: int32; the number in the table of each state; equivalent ones may have one.
            num_states: rows.
            num_symbols: columns.
        """
        return _table(*self, state, num_states, num_symbols)


def edges_of(next_state: NDArray[np.int32]) -> Edges:
    """The edges of a table, int32, (num_states, num_symbols)."""
    return Edges(*_edges(next_state))


@kernel
def _edges(next_state: Ints) -> tuple[Ints, Ints, Ints]:
    num_states, num_symbols = next_state.shape
    first = np.zeros(num_states + 1, np.int32)
    for state in range(num_states):
        first[state + 1] = first[state]
        for column in range(num_symbols):
            first[state + 1] += next_state[state, column] != 0
    symbol = np.empty(first[num_states], np.int32)
    target = np.empty(first[num_states], np.int32)
    e = 0
    for state in range(num_states):
        for column in range(num_symbols):
            if next_state[state, column] != 0:
                symbol[e], target[e] = column, next_state[state, column]
                e += 1
    return first, symbol, target


@kernel
def _table(
    first: Ints, symbol: Ints, target: Ints, state: Ints, num_states: int, num_symbols: int
) -> Ints:
    table = np.zeros((num_states, num_symbols), np.int32)
    for s in range(len(state)):
        for e in range(first[s], first[s + 1]):
            table[state[s], symbol[e]] = state[target[e]]
    return table
