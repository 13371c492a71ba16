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
    source, symbol = np.nonzero(next_state)
    first = np.zeros(len(next_state) + 1, np.int32)
    np.cumsum(np.bincount(source, minlength=len(next_state)), out=first[1:])
    return Edges(first, symbol.astype(np.int32), next_state[source, symbol])


@kernel
def _table(
    first: Ints, symbol: Ints, target: Ints, state: Ints, num_states: int, num_symbols: int
) -> Ints:
    table = np.zeros((num_states, num_symbols), np.int32)
    for s in range(len(state)):
        for e in range(first[s], first[s + 1]):
            table[state[s], symbol[e]] = state[target[e]]
    return table
