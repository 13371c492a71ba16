"""StateReader: what a structural state reads, and where each terminal leads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.errors import LimitExceededError
from grammars.pushdown.configs import GrammarThen, ObjectMember, PartThen
from grammars.pushdown.cut_words import cut_points, rest_of, symbols_of, word_of
from grammars.pushdown.items import Item
from grammars.pushdown.layout import ALL_LABELS
from grammars.pushdown.layouts import Closing
from grammars.pushdown.lexers import lexer_of
from grammars.pushdown.member_lexers import keys_at
from grammars.pushdown.refusals import ambiguous_parts
from grammars.pushdown.string_reading import (
    ONE_CHARACTER,
    WHOLE,
    cut_strings,
    string_readings,
)
from grammars.pushdown.terminals import Word
from grammars.pushdown.transitions import Continue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grammars.automata.lexer import Lexer
    from grammars.automata.string_rest import StringRest
    from grammars.limits import CompileLimits
    from grammars.pushdown.beginnings import Beginnings
    from grammars.pushdown.configs import ConfigId, ConfigTable
    from grammars.pushdown.cut_words import Symbols
    from grammars.pushdown.items import Items
    from grammars.pushdown.member_lexers import MemberLexer, MemberLexers
    from grammars.pushdown.string_reading import CutStrings, StringReading
    from grammars.pushdown.terminals import Terminal
    from grammars.pushdown.transitions import Effect, Transitions
    from grammars.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Reading:
    """What a state reads.

    Args:
        atoms: what its items begin with.
        lexer: None where there are no terminals.
        start: the lexer's state in which the state begins.
        terminals: item i of the lexer is terminal i.
        effects: of each terminal, the tags of the item that reads it, and what follows.
        counted: the string whose length is counted.
        members: the lexer's keys if it is shared; then effects are found when they are needed.
        window: of the labels of a shared lexer, those that are read.
        of_grammars: the terminals that context-free grammars read.
        cut: the strings that are read in pieces.
    """

    atoms: Items
    lexer: Lexer | None
    start: int
    terminals: tuple[Terminal, ...] = ()
    effects: tuple[tuple[int, Effect], ...] = ()
    counted: StringRest | None = None
    members: MemberLexer | None = None
    window: int = ALL_LABELS
    of_grammars: frozenset[int] = frozenset()
    cut: CutStrings | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """A terminal that an item reads, and what follows."""

    atom: Item
    terminal: Terminal
    effect: Effect


class StateReader:
    """Reads items.

    Args:
        configs: the table of configs.
        transitions: of its configs.
        beginnings: of its configs.
        members: the lexers of objects.
        vocabulary: which literals are control tokens.
        limits: compile budgets.
    """

    def __init__(
        self,
        configs: ConfigTable,
        transitions: Transitions,
        beginnings: Beginnings,
        members: MemberLexers,
        vocabulary: Vocabulary,
        limits: CompileLimits,
    ) -> None:
        self._configs = configs
        self._transitions = transitions
        self._beginnings = beginnings
        self._members = members
        self._vocabulary = vocabulary
        self._limits = limits

    def read(self, atoms: Items) -> Reading:
        """What a state with these atoms reads.

        Raises:
            UnsupportedError: some of them cannot be told apart.
            LimitExceededError: the lexer is too large.
        """
        reading = self._read_members(atoms)
        return self._read_terminals(atoms) if reading is None else reading

    def members(self, atoms: Items) -> list[ObjectMember]:
        """The objects that a state is in."""
        configs = (self._configs[atom.config] for atom in atoms)
        return [config for config in configs if isinstance(config, ObjectMember)]

    def first_symbols(self, atom: ConfigId) -> set[int]:
        """The symbols that the texts of a config, which is not composite, may begin with."""
        transitions = self._transitions.of(self._configs[atom], ONE_CHARACTER)
        terminals = tuple(terminal for terminal, _ in transitions)
        if not terminals:
            return set()
        dfa = self._lexer(terminals).dfa
        return set(np.flatnonzero(dfa.next_state[dfa.start][dfa.symbol_class] != DEAD).tolist())

    def _read_members(self, atoms: Items) -> Reading | None:
        """A state inside of objects, with a window on a shared lexer; None where it has its own."""
        members = self.members(atoms)
        if len(members) < len(atoms):
            return None
        if len({(member.context, member.is_first) for member in members}) != 1:
            return None
        keys = {key for member in members for key in keys_at(member)}
        if keys == {Closing.BRACKET}:
            return None  # it has a lexer of its own, the same for all
        shared = self._members.find(members)
        if shared is None:
            return None
        start = shared.first if members[0].is_first else shared.lexer.dfa.start
        return Reading(atoms, shared.lexer, start, members=shared, window=shared.window(keys))

    def _read_terminals(self, atoms: Items) -> Reading:
        self._check_beginnings(atoms)
        strings = self._strings(atoms)
        reading, reads, lexer = self._read(atoms, strings)
        of_grammars = frozenset(
            number
            for number, read in enumerate(reads)
            if isinstance(self._configs[read.atom.config], GrammarThen)
        )
        terminals = tuple(read.terminal for read in reads)
        return Reading(
            atoms,
            lexer,
            DEAD if lexer is None else lexer.dfa.start,
            terminals=terminals,
            effects=tuple((read.atom.tags, read.effect) for read in reads),
            counted=reading.counted,
            of_grammars=of_grammars,
            cut=cut_strings(strings, terminals),
        )

    def _strings(self, atoms: Items) -> frozenset[StringRest]:
        """The strings that may come next, or are being read."""
        configs = {atom.config: self._configs[atom.config] for atom in atoms}
        return frozenset(
            rest for config in configs.values() for rest in self._transitions.strings_of(config)
        )

    def _read(
        self, atoms: Items, strings: frozenset[StringRest]
    ) -> tuple[StringReading, list[_Read], Lexer | None]:
        """What a state reads: how it reads its strings, all terminals, and their lexer.

        Raises:
            LimitExceededError: the lexer is too large, however its strings are cut.
        """
        refused: LimitExceededError | None = None
        for reading in string_readings(strings):
            reads = self._cut_words(self._reads(atoms, reading))
            if not reads:
                return WHOLE, reads, None
            try:
                lexer = self._lexer(tuple(read.terminal for read in reads))
            except LimitExceededError as error:
                refused = error
                continue
            if not lexer.count_conflict:  # else the counter would count other texts too
                return reading, reads, lexer
        assert refused is not None, "nothing is counted in pieces"
        raise refused

    def _reads(self, atoms: Items, reading: StringReading) -> list[_Read]:
        return [
            _Read(atom, terminal, effect)
            for atom in atoms
            for terminal, effect in self._transitions.of(self._configs[atom.config], reading)
        ]

    def _cut_words(self, reads: list[_Read]) -> list[_Read]:
        """Let words end where another reading parts from them, see `cut_words`."""
        words: dict[Symbols, list[_Read]] = {}
        others: list[_Read] = []
        for read in reads:
            word = self._word_of(read)
            if word is None:
                others.append(read)
            else:
                words.setdefault(word, []).append(read)
        if not words or len(reads) == 1:
            return reads
        cuts = cut_points(
            {word: partial(self._followers, same) for word, same in words.items()},
            self._lexer(tuple(read.terminal for read in others)) if others else None,
            lambda item: self._followers([others[item]]),
        )
        return [self._cut(read, cuts) for read in reads] if cuts else reads

    def _word_of(self, read: _Read) -> Symbols | None:
        """The symbols of a word that may be cut."""
        is_part = isinstance(self._configs[read.atom.config], PartThen)
        return symbols_of(read.terminal) if is_part and isinstance(read.terminal, Word) else None

    def _cut(self, read: _Read, cuts: Mapping[Symbols, int]) -> _Read:
        word, config = self._word_of(read), self._configs[read.atom.config]
        size = None if word is None else cuts.get(word)
        if word is None or size is None:
            return read
        assert isinstance(config, PartThen)
        rest = rest_of(config.part, word, size, self._vocabulary)
        then = self._configs.sequence((rest,), config.then)
        return _Read(read.atom, word_of(word[:size]), Continue(then))

    def _followers(self, reads: Iterable[_Read]) -> set[int]:
        """The symbols that may come after what was read, in the same frame."""
        found: set[int] = set()
        for read in reads:
            if isinstance(read.effect, Continue):
                for atom in self._beginnings.atoms((Item(0, read.effect.then),)):
                    found |= self.first_symbols(atom.config)
        return found

    def _check_beginnings(self, atoms: Items) -> None:
        """Refuse a state in which a grammar and something else begin alike.

        A grammar is read by a lexer of its own, which knows what follows its terminals; what is
        read beside it must be told apart at once.
        """
        configs = dict.fromkeys(atom.config for atom in atoms)
        taken: set[int] = set()
        if any(isinstance(self._configs[config], GrammarThen) for config in configs):
            for config in configs:
                symbols = self.first_symbols(config)
                if not taken.isdisjoint(symbols):
                    raise ambiguous_parts()
                taken |= symbols

    def _lexer(self, terminals: tuple[Terminal, ...]) -> Lexer:
        limits, vocabulary = self._limits, self._vocabulary
        return lexer_of(terminals, limits.max_states, vocabulary.missing_bytes)
