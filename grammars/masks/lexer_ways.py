"""LexerWays: from a lexer state, the shortest text to each label, and the tokens that spell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES
from grammars.automata.json_spelling import QUOTE
from grammars.automata.owed import characters_owed
from grammars.masks.label_ways import LabelWays
from grammars.pushdown.layout import ALL_LABELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.masks.token_spelling import TokenSpelling
    from grammars.pushdown.tables import AutomatonTables

MAX_WAYS: Final = 64
"""Labels that are looked for from one lexer state, those with the shortest texts first."""


_ANY_STATE: Final = 0


@dataclass(frozen=True, slots=True)
class Way:
    """The shortest text from a lexer state to a label; of equals, the first in order of bytes.

    Args:
        label: fires at its end (of an open label, when the next symbol is read).
        fewest: tokens of the text.
        fewest_owing: tokens of the text if characters are put in where a counted string may still
            grow, without these characters; None if it ends no counted string.
    """

    label: int
    fewest: int
    fewest_owing: int | None

    def num_tokens(self, num_owed: int) -> int:
        """Tokens of the text with `num_owed` more characters of one token each."""
        if num_owed == 0 or self.fewest_owing is None:
            return self.fewest
        return self.fewest_owing + num_owed


class LexerWays:
    """Ways from the lexer states of one grammar, found when they are asked for.

    A law that closing rests on: the first token of a way leads to a lexer state whose way to the
    same label takes one token less. It holds since the end of a first shortest text is again one,
    since the fewest tokens of a text are those of its best first token and of the rest, and since
    the labels that are looked for only become fewer where a text goes on.

    Args:
        tables: where the lexer states are.
        spelling: the tokens.
    """

    def __init__(self, tables: AutomatonTables, spelling: TokenSpelling) -> None:
        self._tables = tables
        self._texts, self._longest, self._trie = spelling
        self._label_ways: WeakKeyDictionary[Dfa, LabelWays | None] = WeakKeyDictionary()
        self._ways: dict[tuple[int, int, bool], tuple[Way, ...]] = {}
        self._wasteful: dict[Dfa, _Wasteful | None] = {}  # a Dfa compares by identity

    def __len__(self) -> int:
        return len(self._ways)

    def find(self, lexer_state: int, state: int, *, with_strings: bool = True) -> tuple[Way, ...]:
        """The ways from a global lexer state to the labels nearest to it.

        Where there are more labels than are looked for, only those that a structural state reads.

        Args:
            lexer_state: where they begin.
            state: the structural state.
            with_strings: whether they may begin with a quote.
        """
        if lexer_state == DEAD:
            return ()
        has_many = bool(self._tables.lexers.far_labels(lexer_state))
        key = (lexer_state, state if has_many else _ANY_STATE, with_strings)
        known = self._ways.get(key)
        if known is None:
            window = self._tables.window(state) if has_many else ALL_LABELS
            known = self._ways[key] = tuple(
                self._find(lexer_state, window, with_strings=with_strings)
            )
        return known

    def _find(self, lexer_state: int, window: int, *, with_strings: bool) -> Iterator[Way]:
        dfa, local = self._tables.lexers.locate(lexer_state)
        together = self._all_ways(dfa) if with_strings and window == ALL_LABELS else None
        if together is not None:
            yield from (Way(label, fewest, None) for label, fewest in together.find(local))
            return
        in_string = DEAD if with_strings else dfa.step(local, QUOTE)
        if dfa not in self._wasteful:
            owed = characters_owed(dfa)
            self._wasteful[dfa] = _Wasteful(dfa, owed) if owed.any() else None

        def is_seen(other: int) -> bool:
            return other != in_string and (
                window == ALL_LABELS
                or self._tables.lexers.can_read(lexer_state + other - local, window)
            )

        for way in shortest_texts(dfa, local, self._wasteful[dfa], is_seen):
            yield self._way(dfa, *way)

    def _all_ways(self, dfa: Dfa) -> LabelWays | None:
        """The ways of all states of an automaton, where they are found together."""
        if dfa not in self._label_ways:
            is_for = LabelWays.is_for(dfa)
            self._label_ways[dfa] = LabelWays(dfa, self._trie) if is_for else None
        return self._label_ways[dfa]

    def _way(self, dfa: Dfa, label: int, symbols: list[int], states: list[int]) -> Way:
        fewest = self._num_tokens(symbols)
        is_counted = len(states) > 1 and bool(dfa.char_boundary[states[-2]])
        if not is_counted:
            return Way(label, fewest, None)
        if not (dfa.next_state[states[-2]] == states[-2]).any():
            return Way(label, fewest, None)  # no fewest characters are asked for, see `lengths`
        return Way(label, fewest, self._num_tokens(symbols[:-1]) + 1)

    def _num_tokens(self, symbols: list[int]) -> int:
        """The fewest tokens whose texts join to these symbols; a control token is one symbol."""
        fewest = [0]  # of the last k symbols
        for begin in range(len(symbols) - 1, -1, -1):
            fewest.append(1 + min(fewest[len(symbols) - end] for end in self._ends(symbols, begin)))
        return fewest[-1]

    def _ends(self, symbols: list[int], begin: int) -> Iterator[int]:
        """Where a token that begins there may end; one symbol is always a token."""
        yield begin + 1
        for end in range(begin + 2, min(len(symbols), begin + self._longest) + 1):
            if symbols[end - 1] >= NUM_BYTES or symbols[begin] >= NUM_BYTES:
                return
            if bytes(symbols[begin:end]) in self._texts:
                yield end


class _Wasteful:
    """The steps in counted strings after which more characters are owed than before.

    Args:
        dfa: in which some state owes a character.
        owed: int32, (num_states,), see `characters_owed`.
    """

    def __init__(self, dfa: Dfa, owed: NDArray[np.int32]) -> None:
        self._dfa, self._owed = dfa, owed
        self._is_closed = (dfa.label != NO_LABEL) & ~np.any(dfa.next_state != DEAD, axis=1)
        self._is_inside = dfa.char_boundary.copy()
        frontier = np.flatnonzero(self._is_inside)
        while frontier.size:
            reached = np.unique(dfa.next_state[frontier])
            frontier = reached[(reached != DEAD) & ~self._is_inside[reached]]
            self._is_inside[frontier] = True

    def others(self, state: int) -> NDArray[np.int32]:
        """The row of a state without its wasteful steps."""
        row: NDArray[np.int32] = self._dfa.next_state[state]
        if not self._is_inside[state]:
            return row
        row = row.copy()
        counted = self._dfa.char_boundary[state] & ~self._is_closed[row]
        row[self._owed[row] + counted != self._owed[state]] = DEAD
        return row


def shortest_texts(
    dfa: Dfa, start: int, wasteful: _Wasteful | None, is_seen: Callable[[int], bool]
) -> Iterator[tuple[int, list[int], list[int]]]:
    """For each of the nearest labels the first shortest text to it: label, symbols, states.

    A breadth-first search that takes symbols in ascending order finds the first of the shortest
    texts to each state, and the states in the order of these texts. Inside of a counted string it
    goes only where the fewest characters are owed, since no more may be left. Ends of pieces
    (`Dfa.num_ends`) count only where no terminal can end: what comes after them is not made yet.
    States that are not seen are left out: nothing that is read lies behind them.
    """
    classes, first_symbol = np.unique(dfa.symbol_class, return_index=True)
    by_symbol = sorted(zip(first_symbol.tolist(), classes.tolist(), strict=True))
    before: dict[int, tuple[int, int]] = {start: (DEAD, 0)}
    found: set[int] = set()
    num_ends = int(dfa.label.max()) if dfa.num_ends is None else dfa.num_ends
    num_labels = min(num_ends, MAX_WAYS)
    pieces: dict[int, tuple[list[int], list[int]]] = {}
    for state in (order := [start]):
        label = int(dfa.label[state])
        if label > num_ends:
            if len(pieces) < MAX_WAYS:
                pieces.setdefault(label, _path(before, state))
        elif NO_LABEL < label <= num_ends and label not in found:
            found.add(label)
            yield label, *_path(before, state)
            if len(found) == num_labels:
                return
        row = (dfa.next_state[state] if wasteful is None else wasteful.others(state)).tolist()
        for symbol, column in by_symbol:
            following = row[column]
            if following != DEAD and following not in before and is_seen(following):
                before[following] = (state, symbol)
                order.append(following)
    if not found:
        yield from ((label, *path) for label, path in pieces.items())


def _path(before: dict[int, tuple[int, int]], state: int) -> tuple[list[int], list[int]]:
    symbols: list[int] = []
    states = [state]
    while before[state][0] != DEAD:
        state, symbol = before[state]
        symbols.append(symbol)
        states.append(state)
    return symbols[::-1], states[::-1]
