"""EndlessTerminals: places of a text at which infinitely many texts of one terminal can follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.automata.dfa import DEAD, NO_LABEL
from grammars.automata.lengths import measure
from grammars.pushdown.layout import ALL_LABELS, UNBOUNDED, StateColumn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.masks.reference import PlainConfiguration
    from grammars.pushdown.tables import AutomatonTables


class EndlessTerminals:
    """Knows them for one grammar.

    Args:
        tables: the automaton.
    """

    def __init__(self, tables: AutomatonTables) -> None:
        self._tables = tables
        self._reads_all: dict[int, bool] = {}  # by structural state
        self._is_endless: dict[Dfa, NDArray[np.bool_]] = {}  # a Dfa compares by identity

    def at(self, place: PlainConfiguration) -> bool:
        """Whether infinitely many texts lead from a place to the end of its terminal.

        False also where that is not looked at: behind a window, or where characters are counted.
        """
        if place.lexer == DEAD:
            return False
        reads_all = self._reads_all.get(place.state)
        if reads_all is None:
            row = self._tables.state_row(place.state)
            reads_all = (row[StateColumn.WINDOW], row[StateColumn.COUNT_MAX]) == (
                ALL_LABELS,
                UNBOUNDED,
            )
            self._reads_all[place.state] = reads_all
        if not reads_all:
            return False
        dfa, local = self._tables.locate(place.lexer)
        is_endless = self._is_endless.get(dfa)
        if is_endless is None:
            _, longest = measure(dfa.next_state, dfa.label != NO_LABEL)
            is_endless = self._is_endless[dfa] = longest < 0
        return bool(is_endless[local])
