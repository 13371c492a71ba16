"""Obligations: what a lookahead that was passed still demands of the rest of the text.

A lookahead is a deterministic automaton over letters, the end included; to be in one of its states
is to owe a rest that it accepts from there. Several obligations at once are a `Conjunction`; what
a lookbehind with lookaheads inside amounts to is a `Formula`, a disjunction of conjunctions.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from grammars.automata.letters import Letters, mask_of
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Conjunction: TypeAlias = frozenset[int]
"""States of `Obligations` from all of which the rest must be accepted; none of them: any rest."""

Formula: TypeAlias = frozenset[Conjunction]
"""Conjunctions of which one must hold; none of them: nothing does."""

NOTHING_OWED: Final[Conjunction] = frozenset()
TRUE: Final[Formula] = frozenset((NOTHING_OWED,))
FALSE: Final[Formula] = frozenset()

MAX_FORMULA_TERMS: Final = 256
"""Conjunctions of one formula, at most."""

_BROKEN: Final = 0
_MET: Final = 1


class Obligations:
    """The automata of all lookaheads of one pattern, each beside its complement.

    State 0 accepts no rest and state 1 every rest, so swapping the two complements an automaton.
    """

    def __init__(self, letters: Letters) -> None:
        self._letters = letters
        self._table = np.zeros((2, letters.count), np.int32)
        self._table[_MET] = _MET
        self._negation: list[int] = [_MET, _BROKEN]
        self._after: dict[Conjunction, list[tuple[int, Conjunction]]] = {}

    def add(self, table: NDArray[np.int32], start: int) -> Formula:
        """Add an automaton; what its start demands.

        Args:
            table: int32, (num_states, num_letters); row 0 accepts no rest, row 1 every rest.
            start: where the rest begins.
        """
        num_new = table.shape[0] - 2
        first = self._table.shape[0]
        rows = table[2:]
        for met, broken, offset in ((_MET, _BROKEN, 0), (_BROKEN, _MET, num_new)):
            goal = np.where(rows > _MET, rows + (first + offset - 2), met)
            goal[rows == _BROKEN] = broken
            self._table = np.concatenate((self._table, goal.astype(np.int32)))
        self._negation += range(first + num_new, first + 2 * num_new)
        self._negation += range(first, first + num_new)
        self._after.clear()
        if start <= _MET:
            return TRUE if start == _MET else FALSE
        return frozenset((frozenset((first + start - 2,)),))

    def refine(self, letters: Letters, parent: NDArray[np.int64]) -> None:
        """Read finer letters from now on; `parent` has the old letter of each."""
        self._letters = letters
        self._table = self._table[:, parent]
        self._after.clear()

    def both(self, first: Conjunction, second: Conjunction) -> Conjunction | None:
        """All obligations of two; None where they contradict each other."""
        if not first or not second:
            return first or second
        joined = first | second
        return None if any(self._negation[state] in joined for state in joined) else joined

    def negated(self, formula: Formula) -> Formula:
        """Where the formula does not hold.

        Raises:
            LimitExceededError: it has more than MAX_FORMULA_TERMS conjunctions.
        """
        result = TRUE
        for conjunction in formula:
            options = [frozenset((self._negation[state],)) for state in sorted(conjunction)]
            joined = (self.both(a, b) for a, b in product(result, options))
            result = simplified(terms for terms in joined if terms is not None)
        return result

    def after(self, conjunction: Conjunction) -> list[tuple[int, Conjunction]]:
        """What is owed after a letter: masks of letters, each with what they lead to.

        Letters after which an obligation is broken are in no mask.
        """
        if not conjunction:
            return [(self._letters.every, NOTHING_OWED)]
        known = self._after.get(conjunction)
        if known is None:
            known = self._step(conjunction)
            self._after[conjunction] = known
        return known

    def _step(self, conjunction: Conjunction) -> list[tuple[int, Conjunction]]:
        rows = self._table[sorted(conjunction)]
        rows[:, (rows == _BROKEN).any(axis=0)] = _BROKEN
        columns, number = np.unique(rows, axis=1, return_inverse=True)
        result: dict[Conjunction, int] = {}
        for index, column in enumerate(columns.T.tolist()):
            if column[0] == _BROKEN:
                continue
            owed = frozenset(column) - {_MET}
            result[owed] = result.get(owed, 0) | mask_of(number.ravel() == index)
        return [(mask, owed) for owed, mask in result.items() if self.both(owed, owed) is not None]


def simplified(conjunctions: Iterable[Conjunction]) -> Formula:
    """The disjunction, without conjunctions that demand more than another one does."""
    kept: list[Conjunction] = []
    for conjunction in sorted(set(conjunctions), key=len):
        if not any(other <= conjunction for other in kept):
            kept.append(conjunction)
    if len(kept) > MAX_FORMULA_TERMS:
        raise LimitExceededError(
            "max_formula_terms", MAX_FORMULA_TERMS, "a lookahead inside a lookbehind"
        )
    return frozenset(kept)
