"""Terminals: the automata of the regular texts of a grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.dfa import NUM_BYTES
from grammars.automata.minimise import FIRST_ACCEPTING_KIND, minimise_table
from grammars.automata.pattern_ast import Alternation, Characters, Concatenation, Repetition
from grammars.automata.speakable import without_bytes
from grammars.cfg.character_edges import character_edges
from grammars.cfg.state_budget import StateBudget
from grammars.cfg.terminal_nfa import TerminalNfa
from grammars.errors import LimitExceededError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammars.automata.charset import CharSet
    from grammars.automata.dfa import Dfa
    from grammars.automata.pattern_ast import Node
    from grammars.cfg.character_edges import CharacterEdges
    from grammars.cfg.spelling import Spelling

NFA_STATES_PER_STATE = 4
"""NFA states granted for each deterministic state of the limit."""

BOUNDS_PER_COPY = 16
"""Bounds of ranges in a set of characters that count as one more NFA state."""

MAX_CLASS_BOUNDS: Final = 60_000
"""Bounds of ranges in all sets of characters of a grammar, each set once."""

_ALL: Final = "the set of all terminals"


def num_copies(node: Node) -> int:
    """About how many NFA states a node needs; repetitions multiply."""
    match node:
        case Characters(members):
            return 1 + len(members.bounds) // BOUNDS_PER_COPY
        case Concatenation(parts):
            return sum(map(num_copies, parts))
        case Alternation(options):
            return 1 + sum(map(num_copies, options))
        case Repetition(part, minimum, maximum):
            copies = max(minimum, 1 if maximum is None else maximum)
            return 1 + max(1, num_copies(part)) * copies  # an empty part is looked at each time
        case _:
            raise _not_regular(node)


def depth(node: Node) -> int:
    """How deep a node is nested."""
    match node:
        case Concatenation(nodes) | Alternation(nodes):
            return 1 + max(map(depth, nodes), default=0)
        case Repetition(part):
            return 1 + depth(part)
        case _:
            return 0


def is_nullable(node: Node) -> bool:
    """Whether the empty text is among the texts of a node."""
    match node:
        case Concatenation(parts):
            return all(map(is_nullable, parts))
        case Alternation(options):
            return any(map(is_nullable, options))
        case Repetition(part, minimum):
            return minimum == 0 or is_nullable(part)
        case _:
            return False


class TerminalMaker:
    """Makes the terminals of one grammar in one spelling, within one budget.

    Args:
        spelling: of characters.
        max_states: deterministic states of all terminals together.
        missing_bytes: bytes that the vocabulary cannot spell; no text with one is read.
    """

    def __init__(
        self, spelling: Spelling, *, max_states: int, missing_bytes: frozenset[int] = frozenset()
    ) -> None:
        self._spelling = spelling
        self._missing_bytes = missing_bytes
        self._budget = StateBudget(max_states, _ALL)
        self._copies_left = NFA_STATES_PER_STATE * max_states
        self._bounds_left = MAX_CLASS_BOUNDS
        self._edges: dict[CharSet, CharacterEdges] = {}

    def make(self, node: Node) -> Dfa:
        """The non-empty texts of a node; label 1, minimal. It may be empty.

        Args:
            node: of characters, concatenations, alternations and repetitions.

        Raises:
            LimitExceededError: it needs more than is left of the states, or of the ranges.
            UnsupportedError: an anchor or another assertion, which is no text.
        """
        self._copies_left -= num_copies(node)
        if self._copies_left < 0:
            raise self._budget.used_up()
        word = _word(node, self._spelling)
        if not word:
            return without_bytes(self._constructed(node), self._missing_bytes)
        self._budget.spend(len(word), len(set(word)))
        return without_bytes(_word_dfa(word), self._missing_bytes)

    def _constructed(self, node: Node) -> Dfa:
        builder = TerminalNfa(self._spelling, self._edges_of, self._budget)
        end = builder.add(node, 0)
        nfa, atom_of_symbol = builder.nfa(end)
        table = self._budget.determinise(nfa)
        kind = np.zeros(len(table.next_state) + 1, np.int32)
        kind[table.state_of_item()[table.set_items == end]] = FIRST_ACCEPTING_KIND
        start, next_state = table.start, table.next_state
        if kind[start]:  # the empty text is none: a second start that does not accept
            next_state = np.concatenate((next_state, next_state[start][None]))
            start = len(next_state) - 1
        minimal = minimise_table(next_state, start, kind[: len(next_state)])
        label = (kind[minimal.old_state] != 0).astype(np.int32)
        return build_dfa(minimal.next_state, atom_of_symbol, label, minimal.start)

    def _edges_of(self, members: CharSet) -> CharacterEdges:
        known = self._edges.get(members)
        if known is None:
            self._bounds_left -= len(members.bounds)
            if self._bounds_left < 0:
                raise LimitExceededError("max_class_bounds", MAX_CLASS_BOUNDS, _ALL)
            known = self._edges[members] = character_edges(members, self._spelling)
        return known


def terminal_dfa(
    node: Node, spelling: Spelling, *, max_states: int, missing_bytes: frozenset[int] = frozenset()
) -> Dfa:
    """One terminal by itself; see `TerminalMaker`."""
    return TerminalMaker(spelling, max_states=max_states, missing_bytes=missing_bytes).make(node)


def _word(node: Node, spelling: Spelling) -> list[int]:
    """The symbols of a node that has one text only; [] for others, and for the empty text."""
    symbols: list[int] = []
    for part in node.parts if isinstance(node, Concatenation) else (node,):
        spelled = _symbols(part, spelling)
        if not spelled:
            return []
        symbols += spelled
    return symbols


def _symbols(node: Node, spelling: Spelling) -> Sequence[int]:
    """How a node that is one character is spelled; empty for others."""
    if not isinstance(node, Characters) or (only := node.members.only_member) is None:
        return ()
    return spelling.word(only)


def _word_dfa(word: list[int]) -> Dfa:
    """The automaton of one word, which needs no construction: most terminals are words."""
    column = {symbol: i for i, symbol in enumerate(sorted(set(word)), 1)}
    table = np.zeros((len(word) + 2, len(column) + 1), np.int32)
    table[np.arange(1, len(word) + 1), [column[s] for s in word]] = np.arange(2, len(word) + 2)
    atom_of_symbol = np.zeros(max(NUM_BYTES, max(word) + 1), np.int32)
    atom_of_symbol[list(column)] = list(column.values())
    label = np.zeros(len(word) + 2, np.int32)
    label[-1] = 1
    return build_dfa(table, atom_of_symbol, label, 1)


def _not_regular(node: Node) -> UnsupportedError:
    return UnsupportedError(
        "an anchor, a word boundary or a lookaround reads no text and is not supported in a "
        "grammar; write the terminal without it",
        keyword=type(node).__name__,
        place="a terminal",
    )
