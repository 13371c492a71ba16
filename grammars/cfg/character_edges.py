"""CharacterEdges: the edges that read one character of a set, as its spelling has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.charset import CharSet
    from grammars.cfg.spelling import Spelling

BEFORE: Final = 0
"""The state before the character."""

AFTER: Final = 1
"""The state after it."""

_Tree: TypeAlias = "dict[tuple[int, int], _Tree]"
_Row: TypeAlias = tuple[int, int, int]  # low, high, target


@dataclass(frozen=True, slots=True)
class CharacterEdges:
    """A small deterministic automaton without equal states.

    Args:
        rows: int32, (4, num_edges); source, low, high (inclusive) and target. States are BEFORE,
            AFTER and, from 2 on, those in the middle of a character.
        num_states: how many there are.
    """

    rows: NDArray[np.int32]
    num_states: int

    @property
    def num_edges(self) -> int:
        """How many edges there are."""
        return int(self.rows.shape[1])


def character_edges(members: CharSet, spelling: Spelling) -> CharacterEdges:
    """The edges of a set of characters.

    No spelling begins another, and of two that begin alike the first ranges are equal or disjoint:
    so they are a tree, whose equal subtrees are made one.
    """
    tree: _Tree = {}
    for sequence in spelling.sequences(members):
        place = tree
        for symbols in sequence:
            place = place.setdefault(symbols, {})
    states: dict[tuple[_Row, ...], int] = {}  # of the subtree with these edges

    def rows_of(place: _Tree) -> tuple[_Row, ...]:
        """The edges of a subtree; the recursion is as deep as a character is long."""
        found: list[_Row] = []
        for (low, high), after in place.items():
            rows = rows_of(after)
            target = states.setdefault(rows, len(states) + 2) if rows else AFTER
            found.append((low, high, target))
        return tuple(found)

    edges = [(BEFORE, *row) for row in rows_of(tree)]
    edges += [(state, *row) for rows, state in states.items() for row in rows]
    table = np.array(edges, np.int32).reshape(-1, 4)
    return CharacterEdges(np.ascontiguousarray(table.T), len(states) + 2)
