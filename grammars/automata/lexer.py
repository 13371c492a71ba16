"""LexerBuilder: the lexer of a structural state, from literals, byte classes and DFAs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.atoms import nfa_over_atoms
from grammars.automata.classes import build_dfa
from grammars.automata.dfa import DEAD, NO_LABEL, Dfa
from grammars.automata.kernels import kernel
from grammars.automata.rows import take_rows
from grammars.automata.subset import Nfa, SubsetTable, determinise
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from numpy.typing import NDArray

    from grammars.automata.kernels import Ints

_LEXER: Final = "the lexer of a grammar state"


@dataclass(frozen=True, slots=True)
class Lexer:
    """A determinised lexer.

    Args:
        dfa: its labels number the sets of items: a state with label L accepts exactly items[L - 1].
        items: the distinct sets, in order of the first state that accepts with them.
        count_conflict: a counted string is alive, in some state, together with another text (a
            second counted string, or an uncounted one). One character counter cannot serve both:
            write the length into the string's own DFA (`CodePointDfa.with_length`) and embed it
            uncounted.
    """

    dfa: Dfa
    items: tuple[frozenset[int], ...]
    count_conflict: bool


class LexerBuilder:
    """A byte-level NFA under construction; every method takes a state and returns the one after.

    Nothing stops a terminal from ending in a state that has a way on: the longest match is taken
    by the automaton that runs the lexer, so `"a":` followed by an optional space needs nothing
    special.

    Args:
        max_states: deterministic states at most.
    """

    start = 0
    """The state in which the lexer begins."""

    def __init__(self, max_states: int) -> None:
        self._max_states = max_states
        self._num_states = 1
        self._edges: list[tuple[int, int, int, int]] = []  # source, low, high, target
        self._epsilons: list[tuple[int, int]] = []
        self._literals: list[tuple[int, bytes, int]] = []  # source, bytes, first new state
        self._embeds: list[_Embed] = []
        self._accepts: dict[int, set[int]] = {}  # state -> items
        self._unended: set[int] = set()  # items that end a piece, see `Dfa.num_ends`
        self._is_used_up = False

    def new_state(self) -> int:
        """A state that nothing leads to yet."""
        self._num_states += 1
        return self._num_states - 1

    def literal(self, state: int, data: bytes) -> int:
        """Read exactly `data`."""
        if not data:
            return state
        self._literals.append((state, data, self._num_states))
        self._num_states += len(data)
        return self._num_states - 1

    def symbol(self, state: int, symbol: int) -> int:
        """Read one symbol: a byte, or 256 + i for control token i."""
        return self.range(state, symbol, symbol)

    def range(self, state: int, low: int, high: int) -> int:
        """Read any one symbol of low .. high, inclusive."""
        after = self.new_state()
        self._edges.append((state, low, high, after))
        return after

    def byte_class(self, state: int, byte_values: Collection[int]) -> int:
        """Read any one of these bytes (a `bytes` or a set of ints); of none, none."""
        after = self.new_state()
        self._edges.extend((state, byte, byte, after) for byte in sorted(set(byte_values)))
        return after

    def optional(self, state: int, data: bytes) -> int:
        """Read `data` or nothing."""
        after = self.literal(state, data)
        if after != state:
            self.epsilon(state, after)
        return after

    def epsilon(self, source: int, target: int) -> None:
        """Let `target` follow `source` on no input."""
        self._epsilons.append((source, target))

    def embed(self, state: int, dfa: Dfa, *, counted: bool = True) -> int:
        """Read a text of `dfa`, under any of its labels.

        Args:
            state: where the text begins.
            dfa: its states are copied.
            counted: keep its `char_boundary` marks; without marks in `dfa` this means nothing.
        """
        after = self.new_state()
        base = self._copy(state, dfa, counted=counted)
        accepting = np.flatnonzero(dfa.label != NO_LABEL)
        self._epsilons.extend((base + int(s), after) for s in accepting)
        return after

    def embed_labelled(
        self,
        state: int,
        dfa: Dfa,
        items_of_label: Mapping[int, Collection[int]],
        *,
        counted: bool = True,
    ) -> None:
        """Read a text of `dfa` and accept the items of its label."""
        base = self._copy(state, dfa, counted=counted)
        for s in np.flatnonzero(dfa.label != NO_LABEL).tolist():
            label = int(dfa.label[s])
            for item in items_of_label.get(label, ()):
                self.accept(base + s, item)
                if dfa.num_ends is not None and label > dfa.num_ends:
                    self._unended.add(item)

    def accept(self, state: int, item: int) -> None:
        """Let texts that end in `state` accept `item` (any number of items a state)."""
        self.accept_all(state, (item,))

    def accept_all(self, state: int, items: Iterable[int]) -> None:
        """Let texts that end in `state` accept some items."""
        self._accepts.setdefault(state, set()).update(items)

    def determinise(self) -> Lexer:
        """The lexer: trimmed, with merged symbol classes; called once, for it uses the lists up.

        Raises:
            LimitExceededError: it needs more than `max_states` states.
        """
        assert not self._is_used_up, "a builder makes one lexer"
        self._is_used_up = True
        only = self._only_embed()
        if only is not None:
            return only
        nfa, atom_of_symbol = self._nfa()
        table = determinise(nfa, max_states=self._max_states, what=_LEXER)
        label, items = self._labels(table)
        boundary, conflict = self._boundaries(table)
        dfa = build_dfa(table.next_state, atom_of_symbol, label, table.start, boundary)
        if self._unended:
            num_ends = sum(not found <= self._unended for found in items)
            dfa = replace(dfa, num_ends=num_ends)
        return Lexer(dfa, items, conflict)

    def _only_embed(self) -> Lexer | None:
        """The lexer if it reads one automaton and nothing else: that automaton is deterministic."""
        if len(self._embeds) != 1 or len(self._accepts) != 1 or self._edges or self._literals:
            return None
        [embed], [(end, items)] = self._embeds, self._accepts.items()
        dfa = embed.dfa
        accepting = np.flatnonzero(dfa.label != NO_LABEL)
        expected = [(embed.base + int(s), end) for s in accepting]
        if dfa.is_empty or self._epsilons != [(self.start, embed.base + dfa.start), *expected]:
            return None
        if dfa.num_states > self._max_states:
            raise LimitExceededError("max_states", self._max_states, _LEXER)
        boundary = dfa.char_boundary if embed.counted else np.zeros(dfa.num_states, np.bool_)
        label = np.minimum(dfa.label, 1)
        same = Dfa(dfa.symbol_class, dfa.next_state, label, dfa.start, boundary)
        return Lexer(same, (frozenset(items),), count_conflict=False)

    def _copy(self, state: int, dfa: Dfa, *, counted: bool) -> int:
        """Reserve the states of `dfa`, its state s as base + s; the start follows `state`."""
        base = self._num_states
        self._num_states += dfa.num_states
        self._embeds.append(_Embed(base, dfa, counted=counted and bool(dfa.char_boundary.any())))
        if not dfa.is_empty:
            self.epsilon(state, base + dfa.start)
        return base

    def _nfa(self) -> tuple[Nfa, NDArray[np.int32]]:
        """The edge lists over atoms of symbols, and the atom of each symbol."""
        parts = [_literal_edges(self._literals)]
        if self._edges:
            parts.append(take_rows(self._edges, 4).T)
        for embed in self._embeds:
            edges = dfa_edges(embed.dfa.symbol_class, embed.dfa.next_state)
            edges[0] += embed.base
            edges[3] += embed.base
            parts.append(edges)
        accepting = np.zeros(self._num_states, np.bool_)
        accepting[list(self._accepts)] = True
        return nfa_over_atoms(
            np.concatenate(parts, axis=1),
            take_rows(self._epsilons, 2),
            start=self.start,
            accepting=accepting,
        )

    def _labels(self, table: SubsetTable) -> tuple[NDArray[np.int32], tuple[frozenset[int], ...]]:
        """The label of each deterministic state and the item sets that the labels number."""
        is_accepting = np.zeros(self._num_states, np.bool_)
        is_accepting[list(self._accepts)] = True
        chosen = is_accepting[table.set_items]
        accepted: dict[int, set[int]] = {}
        for state, part in zip(
            table.state_of_item()[chosen].tolist(), table.set_items[chosen].tolist(), strict=True
        ):
            accepted.setdefault(state, set()).update(self._accepts[part])
        label = np.zeros(table.next_state.shape[0], np.int32)
        label_of_items: dict[frozenset[int], int] = {}
        if self._unended:  # their labels come last
            accepted = dict(sorted(accepted.items(), key=lambda it: it[1] <= self._unended))
        for state, items in accepted.items():
            label[state] = label_of_items.setdefault(frozenset(items), len(label_of_items) + 1)
        return label, tuple(label_of_items)

    def _boundaries(self, table: SubsetTable) -> tuple[NDArray[np.bool_], bool]:
        """The boundary mark of each state, and whether a counter would have to serve two texts."""
        num_states = table.next_state.shape[0]
        counted = [embed for embed in self._embeds if embed.counted]
        if not counted or num_states == 1:
            return np.zeros(num_states, np.bool_), False
        is_boundary = np.zeros(self._num_states, np.bool_)
        owner = np.zeros(self._num_states, np.int32)  # which counted string a state is inside of
        for number, embed in enumerate(counted, 1):
            end = embed.base + embed.dfa.num_states
            is_boundary[embed.base : end] = embed.dfa.char_boundary
            owner[embed.base : end] = number
            owner[embed.base + embed.dfa.start] = 0
            owner[embed.base : end][embed.dfa.label != NO_LABEL] = 0
        state_of_item = table.state_of_item()
        boundaries = np.bincount(state_of_item[is_boundary[table.set_items]], minlength=num_states)
        owners = owner[table.set_items]
        first = table.set_start[1:-1]  # of every state but DEAD, whose set is empty
        smallest = np.minimum.reduceat(owners, first)
        largest = np.maximum.reduceat(owners, first)
        return boundaries == 1, bool((smallest != largest).any())


@dataclass(frozen=True, slots=True)
class _Embed:
    """A copy of a DFA whose state s is the NFA state base + s."""

    base: int
    dfa: Dfa
    counted: bool


def _literal_edges(literals: list[tuple[int, bytes, int]]) -> NDArray[np.int32]:
    """Rows source, low, high, target of all literals' edges, int32, (4, num_bytes)."""
    data = np.frombuffer(b"".join(data for _, data, _ in literals), np.uint8)
    length = np.array([len(data) for _, data, _ in literals], np.int32)
    first_edge = np.cumsum(length) - length
    first_state = np.array([first for _, _, first in literals], np.int32)
    edges = np.empty((4, data.shape[0]), np.int32)
    edges[1] = data
    edges[2] = data
    edges[3] = np.repeat(first_state - first_edge, length) + np.arange(data.shape[0])
    edges[0] = edges[3] - 1
    edges[0, first_edge] = [source for source, _, _ in literals]
    return edges


@kernel
def dfa_edges(symbol_class: NDArray[np.uint16], next_state: Ints) -> Ints:
    """The edges as maximal symbol ranges: int32, (4, num_edges); source, low, high, target."""
    num_symbols = symbol_class.shape[0]
    run_first = np.empty(num_symbols + 1, np.int32)
    num_runs = 0
    for symbol in range(num_symbols):
        if symbol == 0 or symbol_class[symbol] != symbol_class[symbol - 1]:
            run_first[num_runs] = symbol
            num_runs += 1
    run_first[num_runs] = num_symbols
    edges = np.empty((4, 64), np.int32)
    count = 0
    for state in range(1, next_state.shape[0]):
        last_target = DEAD
        for run in range(num_runs):
            target = next_state[state, symbol_class[run_first[run]]]
            if target != DEAD:
                if target == last_target:
                    edges[2, count - 1] = run_first[run + 1] - 1
                else:
                    if count == edges.shape[1]:
                        bigger = np.empty((4, 2 * count), np.int32)
                        for e in range(count):
                            for row in range(4):
                                bigger[row, e] = edges[row, e]
                        edges = bigger
                    edges[0, count] = state
                    edges[1, count] = run_first[run]
                    edges[2, count] = run_first[run + 1] - 1
                    edges[3, count] = target
                    count += 1
            last_target = target
    return edges[:, :count].copy()
