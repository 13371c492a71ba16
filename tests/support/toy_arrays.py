"""ToyArrays: a small hand-made grammar that uses every part of the automaton, with its expander.

Texts are nested arrays such as `[[1,2],[]]` whose leaves are all numbers or all strings: the two
readings run side by side until a leaf decides (outcomes). Strings count their characters. The
control token `<null>` may stand for a number. A text is one value; a number may be a whole text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import Dfa
from grammars.pushdown.actions import Goto, Pop, Push
from grammars.pushdown.tables import AutomatonTables

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from grammars.pushdown.actions import Action
    from grammars.vocabulary import Vocabulary

NUMBERS, STRINGS = 1, 2
OPEN, NUMBER, STRING, CLOSE, COMMA, NULL = range(1, 7)
NO_SYMBOL = 5000
"""A symbol that no vocabulary here has."""


def make_dfa(
    edges: Mapping[tuple[int, int], int],
    labels: Mapping[int, int],
    *,
    num_symbols: int = 256,
    boundaries: Container[int] = (),
) -> Dfa:
    """A Dfa from (state, symbol) -> state; state 1 is the start, the others are renumbered."""
    states = {state: index for index, state in enumerate(sorted({0, 1, *edges.values()}))}
    next_state = np.zeros((len(states), num_symbols + 1), np.int32)
    for (state, symbol), target in edges.items():
        next_state[states[state], symbol + 1] = states[target]
    label = np.zeros(len(states), np.int32)
    for state, number in labels.items():
        label[states[state]] = number
    is_boundary = np.array([state in boundaries for state in states])
    symbol_class = np.arange(1, num_symbols + 1, dtype=np.uint16)
    return Dfa(symbol_class, next_state, label, 1, is_boundary)


@lru_cache(maxsize=16)
def value_dfa(readings: int, null: int, *, may_close: bool) -> Dfa:
    """Reads `[`, a number or null, a string of a-z, space, comma, brackets and é; `]` if it may."""
    edges = {(1, ord("[")): 2}
    labels = {2: OPEN}
    if readings & NUMBERS:
        digits = b"0123456789"
        edges |= {(1, digit): 3 for digit in digits} | {(3, digit): 3 for digit in digits}
        edges[1, null] = 7
        labels |= {3: NUMBER, 7: NULL}
    if readings & STRINGS:
        edges |= {(1, ord('"')): 4, (4, ord('"')): 6, (4, 0xC3): 5, (5, 0xA9): 4}
        edges |= {(4, byte): 4 for byte in b"abcdefghijklmnopqrstuvwxyz ,[]"}
        labels[6] = STRING
    if may_close:
        edges[1, ord("]")] = 8
        labels[8] = CLOSE
    return make_dfa(edges, labels, num_symbols=null + 1, boundaries=[4])


@lru_cache(maxsize=1)
def after_dfa() -> Dfa:
    """Reads what may follow an element of an array."""
    return make_dfa({(1, ord(",")): 2, (1, ord("]")): 3}, {2: COMMA, 3: CLOSE})


class ToyArrays:
    """The expander. States are (role, readings still possible), made when they are met.

    Args:
        vocabulary: where `<null>` is looked up.
        fewest: characters of a string at least.
        most: and at most.
    """

    def __init__(self, vocabulary: Vocabulary, *, fewest: int = 0, most: int | None = None) -> None:
        self.tables = AutomatonTables()
        self._bounds = (fewest, most)
        null = vocabulary.control_symbol("<null>")
        self._null = NO_SYMBOL if null is None else null
        self._ids: dict[tuple[str, int], int] = {}
        self._keys: dict[int, tuple[str, int]] = {}
        self.num_expanded = 0
        self.root = self._state("root", NUMBERS | STRINGS)

    def expand_action(self, state: int, label: int) -> None:
        self.num_expanded += 1
        role, readings = self._keys[state]
        after = "end" if role == "root" else "after"
        action: Action
        match label:
            case 1:  # OPEN
                action = Push(self._state(after, readings), self._state("start", readings))
            case 2 | 3 | 6:  # NUMBER, STRING, NULL
                leaf = STRINGS if label == STRING else NUMBERS
                action = Goto(self._state(after, readings & leaf))
            case 4:  # CLOSE
                action = Pop(readings)
            case _:  # COMMA
                action = Goto(self._state("value", readings))
        self.tables.set_action(state, label, action)

    def expand_resume(self, state: int, outcome: int) -> None:
        self.num_expanded += 1
        role, readings = self._keys[state]
        self.tables.set_resume(state, outcome, self._state(role, readings & outcome))

    def least_rest(self, state: int) -> int:
        """0: that takes a search."""
        return 0

    def cut_strings(self, state: int) -> None:
        """None: strings are read whole."""

    def after_strings(self, state: int, ended: object) -> Goto:
        raise AssertionError("no string is read in pieces")

    def _lexer(self, role: str, readings: int) -> Dfa | None:
        match role:
            case "end":
                return None
            case "after":
                return after_dfa()
            case _:
                return value_dfa(readings, self._null, may_close=role == "start")

    def _state(self, role: str, readings: int) -> int:
        if (role, readings) not in self._ids:
            dfa = self._lexer(role, readings)
            state = self.tables.add_state(
                lexer_start=0 if dfa is None else self.tables.lexers.add_dfa(dfa) + dfa.start,
                num_labels=6,
                is_final=role == "end",
                full_outcome=readings,
                count_min=self._bounds[0],
                count_max=self._bounds[1],
            )
            self._ids[role, readings] = state
            self._keys[state] = (role, readings)
        return self._ids[role, readings]
