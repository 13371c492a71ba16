"""StateBudget: deterministic states granted to several automata of one grammar together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.subset import determinise
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from grammars.automata.subset import Nfa, SubsetTable

SYMBOLS_PER_STATE: Final = 64
"""A row of more symbols counts as several states."""

STEPS_PER_STATE: Final = 64
"""Steps of nondeterministic automata that count as one deterministic state."""

EDGES_PER_STATE: Final = 16
"""Edges of nondeterministic automata granted for each deterministic state."""


class StateBudget:
    """What is left of a number of states; each automaton that is made takes its part.

    Args:
        max_states: states granted in all.
        what: the automata, as errors call them.
        limit: the name of the number in errors.
    """

    def __init__(self, max_states: int, what: str, *, limit: str = "max_states") -> None:
        self._limit = limit
        self._max_states = max_states
        self._what = what
        self._left = max_states

    @property
    def max_edges(self) -> int:
        """Edges that the next nondeterministic automaton may have."""
        return EDGES_PER_STATE * self._left

    def used_up(self) -> LimitExceededError:
        """The error of an automaton for which too little is left."""
        return LimitExceededError(self._limit, self._max_states, self._what)

    def spend(self, num_states: int, num_symbols: int) -> None:
        """Count an automaton that needs no construction.

        Raises:
            LimitExceededError: it takes more than is left.
        """
        self._left -= int(num_states * max(1, num_symbols / SYMBOLS_PER_STATE))
        if self._left < 0:
            raise self.used_up()

    def determinise(self, nfa: Nfa) -> SubsetTable:
        """Make an automaton deterministic, and count what it took: states, or work or table.

        Raises:
            LimitExceededError: more than is left.
        """
        num_steps = (nfa.high - nfa.low + 1).astype(np.int64)  # of each edge
        width = max(1, nfa.num_symbols / SYMBOLS_PER_STATE)
        max_steps = STEPS_PER_STATE * self._left
        if num_steps.sum() > max_steps:
            raise self.used_up()
        try:
            table = determinise(
                nfa, max_states=int(self._left / width), what=self._what, max_steps=max_steps
            )
        except LimitExceededError as error:
            raise self.used_up() from error
        steps_of_state = np.bincount(nfa.source, num_steps, nfa.num_states)
        work = steps_of_state[table.set_items].sum() / STEPS_PER_STATE
        self._left -= int(max(len(table.next_state) * width, work))
        return table
