"""TerminalPool: all terminals of a grammar, side by side; any of them are read at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.atoms import nfa_over_atoms
from grammars.automata.dfa import NO_LABEL
from grammars.automata.lexer import dfa_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.automata.subset import Nfa, SubsetTable

_NO_EDGES: Final = np.zeros((4, 0), np.int32)
_NO_EPSILONS: Final = np.zeros((0, 2), np.int32)


@dataclass(frozen=True, slots=True)
class Union:
    """One automaton that reads a text of any of some terminals.

    Args:
        nfa: it; state 0 is the start, and does not accept.
        atom_of_symbol: int32, (num_symbols,).
        bases: int32, (num_terminals + 1,); the states of the terminal at place i of the list are
            those from bases[i] on, before bases[i + 1].
    """

    nfa: Nfa
    atom_of_symbol: NDArray[np.int32]
    bases: NDArray[np.int32]

    def places(self, states: NDArray[np.int32]) -> NDArray[np.int64]:
        """The places in the list of the terminals that some states belong to."""
        return np.searchsorted(self.bases, states, side="right") - 1

    def leads_on(self) -> NDArray[np.bool_]:
        """Which states have a way on: bool, (num_states,)."""
        leads_on = np.zeros(self.nfa.num_states, np.bool_)
        leads_on[self.nfa.source] = True
        return leads_on

    def ended(self, table: SubsetTable) -> EndedTerminals:
        """The terminals whose text is whole in the states of the deterministic automaton."""
        is_end = self.nfa.accepting[table.set_items]
        places = self.places(table.set_items[is_end])
        states, first = np.unique(table.state_of_item()[is_end], return_index=True)
        past = np.append(first[1:], len(places))
        set_of_state = np.empty(len(states), np.int32)
        is_single = past == first + 1
        single, set_of_state[is_single] = np.unique(places[first[is_single]], return_inverse=True)
        sets: list[NDArray[np.int64]] = [*single.reshape(-1, 1)]
        numbers: dict[bytes, int] = {}
        for i in np.flatnonzero(~is_single).tolist():
            members = places[first[i] : past[i]]
            set_of_state[i] = number = numbers.setdefault(members.tobytes(), len(sets))
            if number == len(sets):
                sets.append(members)
        return EndedTerminals(states, set_of_state, sets)


@dataclass(frozen=True, slots=True)
class EndedTerminals:
    """The terminals that have ended in the accepting states of a deterministic automaton.

    Args:
        states: int, (num_accepting,); ascending.
        set_of_state: int32, (num_accepting,); the set of the terminals that have ended there.
        sets: the distinct ones, each as places in the list of the union, ascending.
    """

    states: NDArray[np.int32]
    set_of_state: NDArray[np.int32]
    sets: list[NDArray[np.int64]]

    @property
    def num_members(self) -> int:
        """How large the distinct sets are together."""
        return sum(map(len, self.sets))


class TerminalPool:
    """The edges of all terminals of a grammar, by terminal.

    Args:
        terminals: their automata.
    """

    def __init__(self, terminals: Sequence[Dfa]) -> None:
        edges = [dfa_edges(dfa.symbol_class, dfa.next_state) for dfa in terminals]
        accepts = [dfa.label != NO_LABEL for dfa in terminals]
        self._edges = np.concatenate([_NO_EDGES, *edges], axis=1)  # states of each by themselves
        self._num_edges = np.array([part.shape[1] for part in edges], np.int64)
        self._accepts = np.concatenate([np.zeros(0, np.bool_), *accepts])
        self._num_states = np.array([len(part) for part in accepts], np.int64)

    def union(self, terminals: Sequence[int], starts: Sequence[int]) -> Union:
        """The automaton of some terminals.

        Args:
            terminals: their numbers; at least one.
            starts: the state of each in which its text begins, or goes on.
        """
        chosen = np.array(terminals)
        num_states, num_edges = self._num_states[chosen], self._num_edges[chosen]
        bases = np.cumsum([1, *num_states])
        edges = self._edges[:, _spans(self._num_edges, chosen)]
        base = np.repeat(bases[:-1], num_edges).astype(np.int32)
        is_first = edges[0] == np.repeat(starts, num_edges)
        edges[0] += base
        edges[3] += base
        begin = edges[:, is_first]
        begin[0] = 0  # a start that does not accept, where a terminal goes on
        nfa, atom_of_symbol = nfa_over_atoms(
            np.concatenate((begin, edges), axis=1),
            _NO_EPSILONS,
            start=0,
            accepting=np.append(False, self._accepts[_spans(self._num_states, chosen)]),
        )
        return Union(nfa, atom_of_symbol, bases.astype(np.int32))


def _spans(sizes: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of all that belongs to the chosen, where what belongs to each stands in order.

    Args:
        sizes: int, (num_all,); how much belongs to each.
        chosen: int, (num_chosen,).
    """
    counts = sizes[chosen]
    first = (np.cumsum(sizes) - sizes)[chosen]
    skipped = first - (np.cumsum(counts) - counts)
    return np.repeat(skipped, counts) + np.arange(counts.sum())
