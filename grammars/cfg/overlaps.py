"""Overlaps: what terminals have in common that one lexer looks for at the same time."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from grammars.automata.dfa import DEAD
from grammars.cfg.follow import bit_set, members
from grammars.cfg.state_budget import StateBudget
from grammars.cfg.terminal_pool import TerminalPool

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.cfg.follow import LetterSet, TerminalSet

MAX_COMPARED_STATES: Final = 400_000
"""States of the lexers of all sets of one grammar."""


class Overlap(NamedTuple):
    """What some terminals have in common.

    Args:
        same_text: sets of terminals that share a text, ascending; those of one alone left out.
        reads_on: by terminal, the letters with which one of them may read on where it has ended.
    """

    same_text: tuple[tuple[int, ...], ...]
    reads_on: dict[int, LetterSet]


class Overlaps:
    """The overlaps in sets of terminals: one lexer of all in a set tells them.

    Args:
        terminals: their automata over letters.
    """

    def __init__(self, terminals: Sequence[Dfa]) -> None:
        self._terminals = terminals
        self._pool = TerminalPool(terminals)
        self._budget = StateBudget(
            MAX_COMPARED_STATES, "a comparison of all terminals", limit="max_compared_states"
        )
        self._known: dict[TerminalSet, Overlap] = {}

    def of(self, terminals: TerminalSet) -> Overlap:
        """What the terminals of a set have in common.

        Raises:
            LimitExceededError: all such lexers together need too many states.
        """
        known = self._known.get(terminals)
        if known is None:
            known = self._known[terminals] = self._find(terminals)
        return known

    def _find(self, terminals: TerminalSet) -> Overlap:
        numbers = list(members(terminals))
        union = self._pool.union(numbers, [self._terminals[number].start for number in numbers])
        table = self._budget.determinise(union.nfa)
        ended = union.ended(table)
        if ended.num_members > MAX_COMPARED_STATES:
            raise self._budget.used_up()
        letters = _letter_sets(table.next_state[ended.states] != DEAD, union.atom_of_symbol)
        reads_on: defaultdict[int, LetterSet] = defaultdict(int)
        for number, read in set(zip(ended.set_of_state.tolist(), letters, strict=True)):
            for place in ended.sets[number].tolist():
                reads_on[numbers[place]] |= read
        same_text = (tuple([numbers[place] for place in places]) for places in ended.sets)
        return Overlap(tuple(sorted(same for same in same_text if len(same) > 1)), dict(reads_on))


def _letter_sets(leads_on: NDArray[np.bool_], atom_of_symbol: NDArray[np.int32]) -> list[LetterSet]:
    """The letters that lead on, for each state.

    Args:
        leads_on: bool, (num_states, num_atoms).
        atom_of_symbol: int32, (num_letters,).
    """
    known: dict[bytes, LetterSet] = {}
    found = []
    for row in leads_on:
        key = row.tobytes()
        if key not in known:
            known[key] = bit_set(row[atom_of_symbol])
        found.append(known[key])
    return found


def live_letters(dfa: Dfa, is_chosen: NDArray[np.bool_]) -> LetterSet:
    """The letters that lead on from any of the states.

    Args:
        dfa: over letters.
        is_chosen: bool, (num_states,); the states.
    """
    leads_on = (dfa.next_state[is_chosen] != DEAD).any(axis=0)
    return bit_set(leads_on[dfa.symbol_class])
