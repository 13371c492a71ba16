r"""Assertions of a pattern (anchors, word boundaries, lookarounds) as operations on automata.

Each edge that an assertion guards becomes one that a plain automaton can follow (`unfolding`):

* what an anchor asks for is told by the next letter (`letters`): the edge is passed on a promise
  of which letter comes;
* a lookahead is determinised by itself, and passing it adds an obligation (`obligations`) that
  runs along and must be met by the end; a negated one runs the complement;
* a lookbehind is determinised by itself, behind any text, and joins the `monitor` that tells each
  place its context: so it too is told by the next letter.

Inner lookarounds are resolved before those around them, so they nest in any way. A lookbehind that
holds a lookahead may hold under obligations only; these are added where it is passed.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.automata.letters import mask_of, members_of
from grammars.automata.minimise import FIRST_ACCEPTING_KIND, minimise_table
from grammars.automata.monitor import monitor_of_anchors
from grammars.automata.obligations import FALSE, NOTHING_OWED, Formula, Obligations, simplified
from grammars.automata.pattern_ast import Anchor
from grammars.automata.pattern_nfa import LookGuard
from grammars.automata.subset import determinise
from grammars.automata.unfolding import Assertions, Passages, Unfolding
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from grammars.automata.letters import Letters
    from grammars.automata.partition import Partition
    from grammars.automata.pattern_nfa import PatternNfa
    from grammars.automata.subset import SubsetTable

MAX_LOOKAROUND_CELLS: Final = 4_000_000
"""States times letters of one table, at most: lookbehinds side by side multiply the letters."""


def resolve_assertions(
    nfa: PatternNfa, partition: Partition, is_word: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], int, NDArray[np.bool_]]:
    r"""The deterministic automaton of a pattern with assertions.

    Args:
        nfa: the whole pattern.
        partition: the classes of its sets, those of its lookarounds included.
        is_word: bool, (num_classes,); the classes of `\w`, where a word boundary is used.

    Returns:
        next_state int32, (num_states, num_classes), its start, and bool, (num_states,), which
        states accept. It is not trimmed.

    Raises:
        LimitExceededError: too many states, or too many places (see `Unfolding`).
    """
    resolver = _Resolver(nfa, partition, is_word)
    for number, (look, is_ahead) in enumerate(nfa.parts.looks):  # inner ones first
        if is_ahead:
            resolver.look_ahead(number, look)
        else:
            resolver.look_behind(number, look)
    return resolver.whole(nfa)


def anchors_of(nfa: PatternNfa) -> set[Anchor]:
    """The anchors in a pattern and in its lookarounds."""
    every = (nfa, *(look for look, _ in nfa.parts.looks))
    return {guard for one in every for _, guard, _ in one.guards if isinstance(guard, Anchor)}


class _Resolver:
    """What is known of the assertions while they are resolved, one after the other."""

    def __init__(self, nfa: PatternNfa, partition: Partition, is_word: NDArray[np.bool_]) -> None:
        self._max_states = nfa.parts.max_states
        self._monitor, holds = monitor_of_anchors(anchors_of(nfa), is_word)
        letters = self._monitor.letters
        self._known = Assertions(
            letters,
            partition.class_runs,
            Obligations(letters),
            {anchor: [(mask_of(before), NOTHING_OWED)] for anchor, before in holds.items()},
        )

    def whole(self, nfa: PatternNfa) -> tuple[NDArray[np.int32], int, NDArray[np.bool_]]:
        places = Unfolding(self._known, nfa, reads_end=True)
        with self._counted_cells("a pattern") as max_states:
            table = determinise(places.nfa(), max_states=max_states, what="a pattern")
            return self._monitor.read(table.next_state, table.start, max_states)

    def look_ahead(self, number: int, look: PatternNfa) -> None:
        places = Unfolding(self._known, look, reads_end=True)
        with self._counted_cells("a lookahead") as max_states:
            table = determinise(places.nfa(), max_states=max_states, what="a lookahead")
        holds = self._known.obligations.add(*_rests(table, self._known.letters))
        for is_negated in (False, True):
            formula = self._known.obligations.negated(holds) if is_negated else holds
            self._known.passages[LookGuard(number, is_negated)] = [
                (self._known.letters.every, conjunction) for conjunction in formula
            ]

    def look_behind(self, number: int, look: PatternNfa) -> None:
        places = Unfolding(self._known, look, reads_end=False)
        before = self._known.letters
        with self._counted_cells("a lookbehind") as max_states:
            table = determinise(places.nfa(), max_states=max_states, what="a lookbehind")
            value, formulas = _formulas(table, places, before)
            self._monitor, old_context, told = self._monitor.beside(
                table.next_state, table.start, value, max_states
            )
        letters = self._monitor.letters
        old_of_letter = old_context[letters.context_of_letter]
        self._known.refine(letters, letters.class_of_letter * before.num_contexts + old_of_letter)
        for is_negated in (False, True):
            passages: Passages = []
            for index, formula in enumerate(formulas):
                passed = self._known.obligations.negated(formula) if is_negated else formula
                mask = mask_of((told == index)[letters.context_of_letter])
                passages += [(mask, conjunction) for conjunction in passed]
            self._known.passages[LookGuard(number, is_negated)] = passages

    @contextmanager
    def _counted_cells(self, what: str) -> Iterator[int]:
        """The states that a table over the letters of now may have.

        Raises:
            LimitExceededError: by a table with more than MAX_LOOKAROUND_CELLS cells.
        """
        most = MAX_LOOKAROUND_CELLS // self._known.letters.count
        if most >= self._max_states:
            yield self._max_states
            return
        try:
            yield most
        except LimitExceededError as error:
            if error.limit != "max_states":
                raise
            raise LimitExceededError("max_lookaround_cells", MAX_LOOKAROUND_CELLS, what) from error


def _rests(table: SubsetTable, letters: Letters) -> tuple[NDArray[np.int32], int]:
    """The table of a lookahead as `Obligations` take it, and its start."""
    kind = np.zeros(table.next_state.shape[0], np.int32)
    kind[_behind_end(table.next_state, letters)] = FIRST_ACCEPTING_KIND
    kind[DEAD] = 0
    minimal = minimise_table(table.next_state, table.start, kind)
    rows, behind = minimal.next_state, _behind_end(minimal.next_state, letters)
    number = np.full(rows.shape[0], -1, np.int32)
    if behind != DEAD:
        # One state at most of a minimal table accepts every rest: it leads to itself.
        goal = np.where(letters.class_of_letter == letters.num_classes, behind, 0)
        goal = np.where(goal == behind, goal, np.arange(rows.shape[0])[:, None])
        number[((rows == goal) | (letters.class_of_letter == 0)).all(axis=1)] = 1
        number[behind] = 1
    number[DEAD] = 0
    others = np.flatnonzero(number < 0)
    number[others] = np.arange(2, 2 + len(others))
    result = np.zeros((2 + len(others), letters.count), np.int32)
    result[2:] = number[rows[others]]
    return result, int(number[minimal.start])


def _behind_end(next_state: NDArray[np.int32], letters: Letters) -> int:
    """The only state that ends lead to; DEAD where nothing is accepted."""
    return int(next_state[:, -letters.num_contexts :].max(initial=DEAD))


def _formulas(
    table: SubsetTable, places: Unfolding, letters: Letters
) -> tuple[NDArray[np.int32], list[Formula]]:
    """Under what a lookbehind holds.

    Returns:
        int32, (num_states, num_letters), for each state of its table and each letter that may
        follow the index of a formula; and the formulas.
    """
    number: dict[Formula, int] = {FALSE: 0}
    value = np.zeros((table.next_state.shape[0], letters.count), np.int32)
    for state in range(1, table.next_state.shape[0]):
        items = table.set_items[table.set_start[state] : table.set_start[state + 1]]
        hits = [places.found[item] for item in items.tolist() if item in places.hits]
        cuts = {letters.every}
        for _, promise, _ in hits:
            cuts = {part for cut in cuts for part in (cut & promise, cut & ~promise) if part}
        for cut in cuts:
            formula = simplified(owed for _, promise, owed in hits if cut & promise)
            is_member = members_of(cut, letters.count)
            value[state, is_member] = number.setdefault(formula, len(number))
    return value, list(number)
