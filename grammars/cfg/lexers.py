"""Lexers: one automaton for all terminals that may come next, and what its labels mean.

Without a lexer of its own (GBNF), a grammar lets a terminal end wherever its text is whole, also
where it could go on: `[a-z]+` before `"b"`. The machine takes the longest match, so a state that
accepts may go on only if no byte could belong to both readings; else it is *cut*: its label fires
at once, and says what was read to its end and what is still being read. With a lexer (Lark), the
longest match is what is meant, and nothing is cut; but what follows may begin with the first bytes
of a character that would go on (`part_characters`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES
from grammars.automata.lexer import dfa_edges
from grammars.automata.minimise import FIRST_ACCEPTING_KIND, minimise_table
from grammars.automata.operations import minimise
from grammars.automata.subset import Nfa, determinise
from grammars.cfg.follow import bit_set
from grammars.cfg.part_characters import PartCharacters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.automata.subset import SubsetTable
    from grammars.cfg.follow import ByteSet
    from grammars.cfg.network import Network
    from grammars.cfg.parsing import Scan
    from grammars.cfg.spelling import Spelling


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
    """

    def __init__(
        self, network: Network, follows: Sequence[ByteSet], spelling: Spelling, max_states: int
    ) -> None:
        self._network = network
        self._follows = follows
        self._part_characters = PartCharacters(spelling, max_states)
        self._max_states = max_states
        self._lexers: dict[tuple[Scan, ...], ScanLexer] = {}
        self._advanced: dict[tuple[ScanLexer, bytes], ScanLexer | None] = {}
        self._edges: dict[int, NDArray[np.int32]] = {}

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
        nfa, atom_of_byte, bases = self._nfa(scans)
        table = determinise(nfa, max_states=self._max_states, what="the lexer of a grammar state")
        number: dict[Label, int] = {}
        labels = np.zeros(len(table.next_state), np.int32)
        next_state = table.next_state.copy()
        for state, label, is_cut in self._accepting(table, atom_of_byte, scans, bases):
            labels[state] = number.setdefault(label, len(number) + 1)
            if is_cut:
                next_state[state] = DEAD
        meanings = list(number)
        atoms = atom_of_byte
        start = table.start
        if not self._network.is_scannerless:
            told = self._part_characters.with_prefixes(next_state, labels, start, atom_of_byte)
            if told is not None:
                next_state, labels, start, prefixes = told
                atoms = np.arange(NUM_BYTES, dtype=np.int32)
                meanings += [
                    replace(meanings[prefix.label - 1], prefix=prefix.data) for prefix in prefixes
                ]
        kinds = np.where(labels == NO_LABEL, 0, labels + FIRST_ACCEPTING_KIND)
        minimal = minimise_table(next_state, start, kinds.astype(np.int32))
        used, renumbered = np.unique(labels[minimal.old_state], return_inverse=True)
        dfa = build_dfa(minimal.next_state, atoms, renumbered.astype(np.int32), minimal.start)
        return ScanLexer(dfa, tuple(meanings[label - 1] for label in used.tolist() if label))

    def _nfa(self, scans: tuple[Scan, ...]) -> tuple[Nfa, NDArray[np.int32], NDArray[np.int32]]:
        """A copy of each terminal, the atom of each byte, and where the copies begin."""
        sizes = [self._network.terminals[scan.terminal].num_states for scan in scans]
        bases = np.cumsum([1, *sizes], dtype=np.int32)  # state 0 begins them all
        parts = []
        accepting = np.zeros(bases[-1], np.bool_)
        for scan, base in zip(scans, bases.tolist(), strict=False):
            edges = self._terminal_edges(scan.terminal) + np.array([[base], [0], [0], [base]])
            begin = edges[:, edges[0] == base + scan.lexer]  # a start that does not accept
            begin[0] = 0
            parts += [begin, edges]
            dfa = self._network.terminals[scan.terminal]
            accepting[base : base + dfa.num_states] = dfa.label != NO_LABEL
        source, low, high, target = np.concatenate(parts, axis=1).astype(np.int32)
        is_first = np.zeros(NUM_BYTES + 1, np.int32)
        is_first[low] = 1
        is_first[high + 1] = 1
        is_first[0] = 0
        atom_of_byte = np.cumsum(is_first[:NUM_BYTES], dtype=np.int32)
        no_edges = np.zeros(0, np.int32)
        nfa = Nfa(
            num_states=int(bases[-1]),
            start=0,
            epsilon_source=no_edges,
            epsilon_target=no_edges,
            source=np.ascontiguousarray(source),
            low=atom_of_byte[low],
            high=atom_of_byte[high],
            target=np.ascontiguousarray(target),
            accepting=accepting,
            num_symbols=int(atom_of_byte[-1]) + 1,
        )
        return nfa, atom_of_byte, bases

    def _terminal_edges(self, terminal: int) -> NDArray[np.int32]:
        known = self._edges.get(terminal)
        if known is None:
            dfa = self._network.terminals[terminal]
            known = self._edges[terminal] = dfa_edges(dfa.symbol_class, dfa.next_state)
        return known

    def _accepting(
        self,
        table: SubsetTable,
        atom_of_byte: NDArray[np.int32],
        scans: tuple[Scan, ...],
        bases: NDArray[np.int32],
    ) -> Iterable[tuple[int, Label, bool]]:
        """The states that accept, what their label means, and whether they are cut."""
        copies = np.searchsorted(bases, table.set_items, side="right") - 1
        insides = table.set_items - bases[copies]
        members: defaultdict[int, list[tuple[Scan, int]]] = defaultdict(list)
        for state, copy, inside in zip(
            table.state_of_item().tolist(), copies.tolist(), insides.tolist(), strict=True
        ):
            if copy >= 0:
                members[state].append((scans[copy], inside))
        for state, parts in members.items():
            ended = tuple(
                scan for scan, inside in parts if self._dfa(scan).label[inside] != NO_LABEL
            )
            if not ended:
                continue
            is_cut = self._is_cut(table.next_state[state], atom_of_byte, ended)
            opened = tuple(
                Open(scan, inside)
                for scan, inside in parts
                if is_cut and (self._dfa(scan).next_state[inside] != DEAD).any()
            )
            yield state, Label(ended, opened), is_cut

    def _is_cut(
        self, row: NDArray[np.int32], atom_of_byte: NDArray[np.int32], ended: tuple[Scan, ...]
    ) -> bool:
        """Whether a byte could go on with a terminal and as well follow one that has ended."""
        if not self._network.is_scannerless:
            return False
        follow = 0
        for scan in ended:
            follow |= self._follows[scan.terminal]
        if not follow:
            return False
        return bool(bit_set(row[atom_of_byte] != DEAD) & follow)

    def _dfa(self, scan: Scan) -> Dfa:
        return self._network.terminals[scan.terminal]
