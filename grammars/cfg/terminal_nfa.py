"""TerminalNfa: the nondeterministic automaton of a terminal over symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.atoms import nfa_over_atoms
from grammars.automata.pattern_ast import Alternation, Characters, Concatenation, Repetition
from grammars.automata.rows import take_rows
from grammars.cfg.character_edges import BEFORE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from grammars.automata.charset import CharSet
    from grammars.automata.pattern_ast import Node
    from grammars.automata.subset import Nfa
    from grammars.cfg.character_edges import CharacterEdges
    from grammars.cfg.spelling import Spelling
    from grammars.cfg.state_budget import StateBudget


class TerminalNfa:
    """Thompson's construction (CACM 11(6), 1968); state 0 is the start.

    Args:
        spelling: of characters.
        edges_of: the edges of a set of characters.
        budget: bounds the edges.
    """

    def __init__(
        self,
        spelling: Spelling,
        edges_of: Callable[[CharSet], CharacterEdges],
        budget: StateBudget,
    ) -> None:
        self._spelling = spelling
        self._edges_of = edges_of
        self._budget = budget
        self._num_states = 1
        self._num_edges = 0
        self._edges: list[tuple[int, int, int, int]] = []  # source, low, high, target
        self._epsilons: list[tuple[int, int]] = []
        self._sets: dict[CharSet, list[tuple[int, int]]] = {}  # state before, first new state

    def add(self, node: Node, state: int) -> int:
        """Read `node` from `state` on; the state after it. No edge is ever added into `state`.

        Raises:
            LimitExceededError: too many edges.
        """
        match node:
            case Characters(members):
                return self._characters(members, state)
            case Concatenation(parts):
                for part in parts:
                    state = self.add(part, state)
                return state
            case Alternation(options):
                after = self._new_states(1)
                for option in options:
                    self._epsilons.append((self.add(option, state), after))
                return after
            case Repetition():
                return self._repetition(node, state)
            case _:
                raise AssertionError(f"{node} is no text")

    def nfa(self, end: int) -> tuple[Nfa, NDArray[np.int32]]:
        """The automaton that accepts in `end`, and the atom of each symbol; called once."""
        parts = [take_rows(self._edges, 4).T]
        for members, uses in self._sets.items():
            source, low, high, target = self._edges_of(members).rows
            before, first = take_rows(uses, 2).T[..., None]
            shape = before.shape[0], low.shape[0]
            part = np.empty((4, *shape), np.int32)
            part[0] = np.where(source == BEFORE, before, first + source - 1)
            part[1] = low
            part[2] = high
            part[3] = first + target - 1
            parts.append(part.reshape(4, -1))
        return nfa_over_atoms(
            np.concatenate(parts, axis=1),
            take_rows(self._epsilons, 2),
            start=0,
            accepting=np.arange(self._num_states) == end,
        )

    def _new_states(self, count: int) -> int:
        """The first of some states that nothing leads to yet."""
        first = self._num_states
        self._num_states += count
        return first

    def _count_edges(self, count: int) -> None:
        self._num_edges += count
        if self._num_edges > self._budget.max_edges:
            raise self._budget.used_up()

    def _characters(self, members: CharSet, state: int) -> int:
        only = members.only_member
        if only is not None:
            symbols = self._spelling.word(only)
            self._count_edges(len(symbols))
            for symbol in symbols:
                after = self._new_states(1)
                self._edges.append((state, symbol, symbol, after))
                state = after
            return state
        edges = self._edges_of(members)
        self._count_edges(edges.num_edges)
        after = self._new_states(edges.num_states - 1)
        self._sets.setdefault(members, []).append((state, after))
        return after

    def _repetition(self, node: Repetition, state: int) -> int:
        if node.maximum is None:
            return self._endless_repetition(node, state)
        for _ in range(node.minimum):
            state = self.add(node.part, state)
        after = self._new_states(1)
        for _ in range(node.maximum - node.minimum):
            self._epsilons.append((state, after))
            state = self.add(node.part, state)
        self._epsilons.append((state, after))
        return after

    def _endless_repetition(self, node: Repetition, state: int) -> int:
        """With at least one, the last copy is the loop: else `+` in `+` would double each time."""
        for _ in range(node.minimum - 1):
            state = self.add(node.part, state)
        loop = self._new_states(1)
        self._epsilons.append((state, loop))
        after = self.add(node.part, loop)
        self._epsilons.append((after, loop))
        return after if node.minimum > 0 else loop
