"""Unfolding: an automaton with guarded edges as a plain one, over places that are reached.

A place is (state, promise, obligations): the state of the automaton, the letters of which the next
one must be since guards were passed, and what the passed lookaheads demand of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from grammars.automata.letters import mask_of, members_of, runs_of
from grammars.automata.obligations import NOTHING_OWED, Conjunction
from grammars.automata.rows import take_rows
from grammars.automata.subset import Nfa
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.letters import Letters
    from grammars.automata.obligations import Obligations
    from grammars.automata.pattern_nfa import Guard, PatternNfa

MAX_LOOKAROUND_PLACES: Final = 20_000
"""Places of all automata of one pattern, at most; each counts once more for each obligation."""

Place: TypeAlias = tuple[int, int, Conjunction]
Passages: TypeAlias = list[tuple[int, Conjunction]]
"""Before which letters (a mask) a guard can be passed, each with what that demands of the rest."""


@dataclass(slots=True)
class Assertions:
    """What is known so far of the assertions of one pattern.

    Args:
        letters: what its automata read.
        class_runs: for each set of the pattern, its classes as inclusive runs.
        obligations: the lookaheads.
        passages: of every guard that is resolved.
        num_places: places made so far, each counted once more for each of its obligations.
    """

    letters: Letters
    class_runs: list[list[tuple[int, int]]]
    obligations: Obligations
    passages: dict[Guard, Passages]
    num_places: int = 0

    def mask_of_set(self, number: int) -> int:
        """The letters of the characters of a set."""
        mask = 0
        for first, last in self.class_runs[number]:
            mask |= self.letters.of_classes(first, last)
        return mask

    def refine(self, letters: Letters, parent: NDArray[np.int64]) -> None:
        """Tell more letters apart; `parent` has the letter that each was before, (num_letters,)."""
        num_before = self.letters.count
        self.letters = letters
        self.obligations.refine(letters, parent)
        for guard, passages in self.passages.items():
            self.passages[guard] = [
                (mask_of(members_of(mask, num_before)[parent]), owed) for mask, owed in passages
            ]


class Unfolding:
    """The places of one automaton and the plain edges between them.

    Args:
        assertions: knows the guards of the automaton; its places are counted there.
        source: the automaton.
        reads_end: the end of the text is read as a letter, and behind it the text is accepted;
            else it is accepted (`hits`) wherever the automaton accepts.

    Raises:
        LimitExceededError: more than MAX_LOOKAROUND_PLACES places.
    """

    def __init__(self, assertions: Assertions, source: PatternNfa, *, reads_end: bool) -> None:
        self._assertions = assertions
        self._obligations = assertions.obligations
        self._source = source
        self._reads_end = reads_end
        self._every = assertions.letters.every
        self._number: dict[Place, int] = {}
        self._edges: list[tuple[int, int, int, int]] = []
        self._epsilons: list[tuple[int, int]] = []
        self._ended: list[tuple[int, int]] = []  # places, and the ends after which they accept
        self.found: list[Place] = []
        self.hits: set[int] = set()
        self._place((source.start, self._every, NOTHING_OWED))
        self._unfold()

    def nfa(self) -> Nfa:
        """The automaton over letters: state i is place i, the last one is behind the end."""
        behind = len(self.found)
        edges = self._edges + [
            (place, low, high, behind) for place, mask in self._ended for low, high in runs_of(mask)
        ]
        source, low, high, target = take_rows(edges, 4).T.copy()
        epsilon_source, epsilon_target = take_rows(self._epsilons, 2).T.copy()
        accepting = np.zeros(behind + 1, np.bool_)
        accepting[behind] = self._reads_end
        accepting[list(self.hits)] = True
        accepts_all = None
        if self._reads_end and self._source.accepts_all is not None:
            accepts_all = self._number.get((self._source.accepts_all, self._every, NOTHING_OWED))
        return Nfa(
            num_states=behind + 1,
            start=0,
            epsilon_source=epsilon_source,
            epsilon_target=epsilon_target,
            source=source,
            low=low,
            high=high,
            target=target,
            accepting=accepting,
            num_symbols=self._assertions.letters.count,
            accepts_all=accepts_all,
        )

    def _unfold(self) -> None:
        source = self._source
        epsilons: dict[int, list[int]] = {}
        for before, after in source.epsilons:
            epsilons.setdefault(before, []).append(after)
        guards: dict[int, list[tuple[int, Passages]]] = {}
        for before, guard, after in source.guards:
            guards.setdefault(before, []).append((after, self._assertions.passages[guard]))
        edges: dict[int, list[tuple[int, int]]] = {}
        for before, number, after in source.edges:
            edges.setdefault(before, []).append((after, self._assertions.mask_of_set(number)))
        accepting = set(source.accepting)
        for here, (state, promise, owed) in enumerate(self.found):  # grows while it is read
            for after in epsilons.get(state, ()):
                self._epsilons.append((here, self._place((after, promise, owed))))
            for after, passages in guards.get(state, ()):
                self._pass_guard(here, after, passages)
            for after, mask in edges.get(state, ()):
                self._read(here, after, mask & promise)
            if state in accepting:
                self._accept(here)

    def _place(self, place: Place) -> int:
        number = self._number.get(place)
        if number is None:
            self._assertions.num_places += 1 + len(place[2])
            if self._assertions.num_places > MAX_LOOKAROUND_PLACES:
                raise LimitExceededError(
                    "max_lookaround_places", MAX_LOOKAROUND_PLACES, "a pattern's lookaround"
                )
            number = self._number[place] = len(self.found)
            self.found.append(place)
        return number

    def _pass_guard(self, here: int, after: int, passages: Passages) -> None:
        _, promise, owed = self.found[here]
        for mask, demanded in passages:
            both = self._obligations.both(owed, demanded)
            if promise & mask and both is not None:
                self._epsilons.append((here, self._place((after, promise & mask, both))))

    def _read(self, here: int, after: int, letters: int) -> None:
        for mask, owed in self._obligations.after(self.found[here][2]):
            if letters & mask:
                target = self._place((after, self._every, owed))
                for low, high in runs_of(letters & mask):
                    self._edges.append((here, low, high, target))

    def _accept(self, here: int) -> None:
        if not self._reads_end:
            self.hits.add(here)
            return
        _, promise, owed = self.found[here]
        for mask, after in self._obligations.after(owed):
            ends = mask & promise & self._assertions.letters.end
            if ends and not after:
                self._ended.append((here, ends))
