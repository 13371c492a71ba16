"""TextCounts: how many texts lead from a place of a text to the end of its terminal."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES
from grammars.automata.edges import edges_of
from grammars.automata.lengths import measure
from grammars.pushdown.layout import ALL_LABELS, UNBOUNDED, StateColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.masks.reference import PlainConfiguration
    from grammars.pushdown.tables import AutomatonTables

MANY: Final = 2**40
"""So many texts or more, also infinitely many."""

_FEW_BYTES: Final = 4
"""Where characters are counted, only so short texts are."""

_MAX_KNOWN: Final = 256


class TextCounts:
    """Counts them for one grammar; needs `AutomatonTables.lock`.

    Args:
        tables: the automaton.
    """

    def __init__(self, tables: AutomatonTables) -> None:
        self._tables = tables
        self._known: dict[tuple[Dfa, int, int, int | None], NDArray[np.float64]] = {}

    def at(self, place: PlainConfiguration) -> int:
        """How many texts there surely are, up to `MANY`; that of no bytes is none.

        It is exact where no characters are counted. Texts are told apart byte by byte, so that of
        another gap or another case of digits is another one.
        """
        if place.lexer == DEAD:
            return 0
        row = self._tables.state_row(place.state)
        most_bytes = None
        if row[StateColumn.COUNT_MAX] != UNBOUNDED or row[StateColumn.COUNT_MIN] > 0:
            # A text of n bytes has at most n characters, of which each may be counted.
            if place.counted < row[StateColumn.COUNT_MIN]:
                return 0
            most_bytes = min(row[StateColumn.COUNT_MAX] - place.counted, _FEW_BYTES)
        dfa, local = self._tables.lexers.locate(place.lexer)
        key = (dfa, self._tables.window(place.state), row[StateColumn.NUM_LABELS], most_bytes)
        counts = self._known.get(key)
        if counts is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            counts = self._known[key] = _counts(*key)
        return int(counts[local])


def _counts(dfa: Dfa, window: int, num_labels: int, most_bytes: int | None) -> NDArray[np.float64]:
    """The number of texts from each state.

    Args:
        dfa: the lexer.
        window: bits of the labels that are read, see `AutomatonTables.window`.
        num_labels: labels past these are not read either.
        most_bytes: of one text; None is no bound.
    """
    accepting = _is_read(dfa.label, window, num_labels)
    next_state = dfa.next_state
    shortest, longest = measure(next_state, accepting)
    if (shortest[1:] < 0).any():
        next_state = np.where(shortest[next_state] >= 0, next_state, DEAD)
        _, longest = measure(next_state, accepting)
    weights = np.bincount(dfa.symbol_class[:NUM_BYTES], minlength=next_state.shape[1])
    first, symbol_class, after = edges_of(next_state)
    before = np.repeat(np.arange(dfa.num_states), np.diff(first))
    edges = _Edges(before, after, weights[symbol_class])
    if most_bytes is not None:
        return _of_few_bytes(edges, accepting, most_bytes)
    return _of_any_length(edges, accepting, longest)


def _is_read(label: NDArray[np.int32], window: int, num_labels: int) -> NDArray[np.bool_]:
    """The states that accept with a label that is read."""
    found: NDArray[np.bool_] = (label > NO_LABEL) & (label <= num_labels)
    if window != ALL_LABELS:
        window &= (1 << num_labels) - 1
        bits = np.frombuffer(window.to_bytes(num_labels // 8 + 1, "little"), np.uint8)
        is_seen = np.unpackbits(bits, bitorder="little").astype(np.bool_)
        found &= is_seen[np.clip(label - 1, 0, num_labels - 1)]
    return found


class _Edges(NamedTuple):
    """The edges between live states: where each begins and ends, and its number of bytes."""

    before: NDArray[np.int64]
    after: NDArray[np.int32]
    num_bytes: NDArray[np.int64]


def _of_few_bytes(
    edges: _Edges, accepting: NDArray[np.bool_], most_bytes: int
) -> NDArray[np.float64]:
    """The number of texts of each state that are no longer than that."""
    of_length = accepting.astype(np.float64)
    counts = of_length.copy()
    for _ in range(most_bytes):
        further = edges.num_bytes * of_length[edges.after]
        of_length = np.bincount(edges.before, further, len(counts)).astype(np.float64)
        counts += of_length
    return np.minimum(counts, MANY)


def _of_any_length(
    edges: _Edges, accepting: NDArray[np.bool_], longest: NDArray[np.int32]
) -> NDArray[np.float64]:
    """The number of texts of each state, of which `longest` is known, see `measure`."""
    counts = accepting.astype(np.float64)
    counts[longest < 0] = MANY
    level = longest[edges.before]
    order = np.argsort(level, kind="stable")
    order = order[np.searchsorted(level[order], 1) :]  # no edge from where texts are endless
    before, after, num_bytes = (part[order] for part in edges)
    levels = level[order]
    firsts = np.flatnonzero(np.diff(levels, prepend=0)).tolist()
    for first, last in pairwise([*firsts, len(order)]):  # the states of a level after all below it
        further = num_bytes[first:last] * counts[after[first:last]]
        np.add.at(counts, before[first:last], further)
        np.minimum(counts, MANY, out=counts)
    return counts
