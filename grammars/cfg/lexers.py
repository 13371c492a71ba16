"""Lexers: one automaton for all terminals that may come next, and what its labels mean.

Without a lexer of its own (GBNF), a grammar lets a terminal end wherever its text is whole, also
where it could go on: `[a-z]+` before `"b"`. The machine takes the longest match, so a state that
accepts may go on only if no byte could belong to both readings; else it is *cut*: its label fires
at once, and says what was read to its end and what is still being read. With a lexer (Lark), the
longest match is what is meant, and nothing is cut; but what follows may begin with the first bytes
of a character that would go on (`part_characters`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES
from grammars.automata.minimise import FIRST_ACCEPTING_KIND, minimise_table
from grammars.automata.operations import minimise
from grammars.automata.reach import first_ways
from grammars.automata.subset import WORK_PER_STATE, determinise
from grammars.cfg.part_characters import part_characters
from grammars.cfg.terminal_pool import TerminalPool
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.automata.subset import Nfa, SubsetTable
    from grammars.cfg.follow import ByteSet
    from grammars.cfg.network import Network
    from grammars.cfg.parsing import Scan
    from grammars.cfg.spelling import Spelling
    from grammars.cfg.terminal_pool import EndedTerminals, Union
    from grammars.work import Work

_WORK_OF_LEXER: Final = 300
_WORK_OF_CUT_STATE: Final = 20
_EDGES_PER_PART: Final = 4
_ENTRIES_PER_PART: Final = 16
_STEPS_PER_PART: Final = 50
"""See `Work`: what a lexer takes at least, and what counts for one part of it."""

_LEXER: Final = "the lexer of a grammar state"


class Open(NamedTuple):
    """A terminal that is still being read.

    Args:
        scan: where it was when the lexer began.
        lexer: the state of its automaton now.
    """

    scan: Scan
    lexer: int


@dataclass(frozen=True, slots=True)
class Label:
    """What has been read when a label fires.

    Args:
        ended: terminals whose text is whole.
        opened: terminals that may go on; none but where the state was cut.
        prefix: bytes that have been read after that: the beginning of a character.
    """

    ended: tuple[Scan, ...]
    opened: tuple[Open, ...]
    prefix: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class ScanLexer:
    """A lexer; label L of its automaton means labels[L - 1]."""

    dfa: Dfa
    labels: tuple[Label, ...]


class LexerTable:
    """The lexers of one grammar, one for each set of scans.

    Args:
        network: the grammar.
        follows: by terminal, the bytes that may come after it.
        spelling: of the characters.
        max_states: states of a lexer.
        work: counts what lexers are made of.
    """

    def __init__(
        self,
        network: Network,
        follows: Sequence[ByteSet],
        spelling: Spelling,
        max_states: int,
        work: Work,
    ) -> None:
        self._network = network
        self._follows = _words_of(follows)
        self._pool = TerminalPool(network.terminals)
        self._part_characters = part_characters(spelling, max_states)
        self._max_states = max_states
        self._work = work
        self._lexers: dict[tuple[Scan, ...], ScanLexer] = {}
        self._advanced: dict[tuple[ScanLexer, bytes], ScanLexer | None] = {}

    def find(self, scans: Iterable[Scan]) -> ScanLexer:
        """The lexer of some scans, at least one.

        Raises:
            LimitExceededError: it needs more than `max_states` states.
        """
        key = tuple(sorted(scans))
        known = self._lexers.get(key)
        if known is None:
            known = self._lexers[key] = self._build(key)
        return known

    def after_prefix(self, lexer: ScanLexer, prefix: bytes) -> ScanLexer | None:
        """The lexer that has read the beginning of a character; None where it refuses that."""
        key = (lexer, prefix)
        if key not in self._advanced:
            start = lexer.dfa.run(prefix)
            self._advanced[key] = (
                None
                if start == DEAD
                else ScanLexer(minimise(replace(lexer.dfa, start=start)), lexer.labels)
            )
        return self._advanced[key]

    def _build(self, scans: tuple[Scan, ...]) -> ScanLexer:
        union = self._pool.union([scan.terminal for scan in scans], [scan.lexer for scan in scans])
        self._work.spend(_WORK_OF_LEXER + len(union.nfa.source) // _EDGES_PER_PART)
        table = self._determinise(union.nfa)
        num_entries = len(table.set_items) + table.next_state.size
        self._work.spend(num_entries // _ENTRIES_PER_PART)
        labels, next_state, meanings = self._labelled(table, union, scans)
        atoms = union.atom_of_symbol
        if not self._network.is_scannerless:
            told = self._part_characters.with_prefixes(next_state, labels, atoms)
            if told is not None:
                next_state, labels, prefixes = told
                atoms = np.arange(NUM_BYTES, dtype=np.int32)
                meanings += [
                    replace(meanings[prefix.label - 1], prefix=prefix.data) for prefix in prefixes
                ]
        kinds = np.where(labels == NO_LABEL, 0, labels + FIRST_ACCEPTING_KIND)
        minimal = minimise_table(next_state, table.start, kinds.astype(np.int32))
        used, renumbered = np.unique(labels[minimal.old_state], return_inverse=True)
        dfa = build_dfa(minimal.next_state, atoms, renumbered.astype(np.int32), minimal.start)
        return ScanLexer(dfa, tuple(meanings[label - 1] for label in used.tolist() if label))

    def _determinise(self, nfa: Nfa) -> SubsetTable:
        granted = WORK_PER_STATE * self._max_states
        left = _STEPS_PER_PART * self._work.left
        try:
            return determinise(
                nfa, max_states=self._max_states, what=_LEXER, max_steps=min(granted, left)
            )
        except LimitExceededError:
            if left < granted:
                raise self._work.used_up() from None
            raise

    def _labelled(
        self, table: SubsetTable, union: Union, scans: tuple[Scan, ...]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], list[Label]]:
        """The label of each state, the table with cut states closed, and what the labels mean.

        Raises:
            LimitExceededError: there is too much to tell apart.
        """
        ended = union.ended(table)
        self._check(ended.num_members)
        self._work.spend(ended.num_members // _ENTRIES_PER_PART)
        meanings = [Label(tuple([scans[i] for i in places.tolist()]), ()) for places in ended.sets]
        labels = np.zeros(len(table.next_state), np.int32)
        labels[ended.states] = ended.set_of_state + 1
        if not self._network.is_scannerless:
            return labels, table.next_state, meanings
        next_state = table.next_state.copy()
        cut_states = self._cut_states(
            table, union, ended, np.array([scan.terminal for scan in scans])
        )
        next_state[cut_states] = DEAD
        ways = first_ways(next_state, union.atom_of_symbol.astype(np.uint16), table.start)
        numbers = {meaning: i for i, meaning in enumerate(meanings, 1)}
        num_opened = 0
        leads_on = union.leads_on()
        for state in cut_states[ways[cut_states, 0] != DEAD].tolist():  # those that are reached
            inside = table.set_items[table.set_start[state] : table.set_start[state + 1]]
            inside = inside[leads_on[inside]]
            num_opened += len(inside)
            self._work.spend(_WORK_OF_CUT_STATE + len(inside))
            self._check(num_opened)
            opened = [
                Open(scans[place], int(item - union.bases[place]))
                for item, place in zip(inside, union.places(inside).tolist(), strict=True)
            ]
            cut = replace(meanings[labels[state] - 1], opened=tuple(opened))
            labels[state] = numbers.setdefault(cut, len(numbers) + 1)
        return labels, next_state, list(numbers)

    def _cut_states(
        self,
        table: SubsetTable,
        union: Union,
        ended: EndedTerminals,
        terminals: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """The states in which a byte could go on with a terminal and as well follow one."""
        is_followed = np.zeros((len(ended.sets), table.next_state.shape[1]), np.bool_)
        if ended.sets:
            first = np.cumsum([0, *map(len, ended.sets[:-1])])
            follows = self._follows[terminals[np.concatenate(ended.sets)]]
            together = np.bitwise_or.reduceat(follows, first).view(np.uint8)
            found, byte = np.nonzero(np.unpackbits(together, axis=1, bitorder="little"))
            is_followed[found, union.atom_of_symbol[byte]] = True
        is_live = table.next_state[ended.states] != DEAD
        is_cut: NDArray[np.bool_] = (is_live & is_followed[ended.set_of_state]).any(axis=1)
        return ended.states[is_cut]

    def _check(self, num_members: int) -> None:
        if num_members > self._max_states:
            raise LimitExceededError("max_states", self._max_states, _LEXER)


def _words_of(follows: Sequence[ByteSet]) -> NDArray[np.uint64]:
    """By terminal, the bits of the bytes that may come after it: uint64, (num_terminals, 4)."""
    num_bytes = NUM_BYTES // 8
    data = b"".join(follow.to_bytes(num_bytes, "little") for follow in follows)
    return np.frombuffer(data, np.uint64).reshape(len(follows), num_bytes // 8)
