"""Terminals: the automata of the regular texts of a grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.dfa import NO_LABEL, NUM_BYTES
from grammars.automata.lexer import LexerBuilder
from grammars.automata.operations import minimise
from grammars.automata.pattern_ast import Alternation, Characters, Concatenation, Repetition
from grammars.automata.speakable import without_bytes
from grammars.errors import LimitExceededError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammars.automata.charset import CharSet
    from grammars.automata.dfa import Dfa
    from grammars.automata.pattern_ast import Node
    from grammars.cfg.spelling import Spelling

NFA_STATES_PER_STATE = 4
"""NFA states granted for each deterministic state of the limit."""

BOUNDS_PER_COPY = 16
"""Bounds of ranges in a set of characters that count as one more NFA state."""


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
            return 1 + num_copies(part) * max(minimum, 1 if maximum is None else maximum)
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


def terminal_dfa(
    node: Node, spelling: Spelling, *, max_states: int, missing_bytes: frozenset[int]
) -> Dfa:
    """The non-empty texts of a node; label 1, minimal. It may be empty.

    Args:
        node: of characters, concatenations, alternations and repetitions.
        spelling: of its characters.
        max_states: deterministic states at most.
        missing_bytes: bytes that the vocabulary cannot spell; no text with one is read.

    Raises:
        LimitExceededError: it needs more than `max_states` states.
        UnsupportedError: an anchor or another assertion, which is no text.
    """
    if num_copies(node) > NFA_STATES_PER_STATE * max_states:
        raise LimitExceededError("max_states", max_states, "a terminal of the grammar")
    word = _word(node, spelling)
    if word:
        return without_bytes(_word_dfa(word), missing_bytes)
    builder = _TerminalBuilder(max_states, spelling)
    builder.accept(builder.add(node, LexerBuilder.start), 0)
    dfa = builder.determinise().dfa
    return without_bytes(minimise(_non_empty(dfa)), missing_bytes)


class _TerminalBuilder(LexerBuilder):
    """Thompson's construction (CACM 11(6), 1968)."""

    def __init__(self, max_states: int, spelling: Spelling) -> None:
        super().__init__(max_states)
        self._spelling = spelling

    def add(self, node: Node, state: int) -> int:
        """Read `node` from `state` on; the state after it. No edge is ever added into `state`."""
        match node:
            case Characters(members):
                return self._characters(members, state)
            case Concatenation(parts):
                return self._concatenation(parts, state)
            case Alternation(options):
                after = self.new_state()
                for option in options:
                    self.epsilon(self.add(option, state), after)
                return after
            case Repetition():
                return self._repetition(node, state)
            case _:
                raise _not_regular(node)

    def _characters(self, members: CharSet, state: int) -> int:
        after = self.new_state()
        for sequence in self._spelling.sequences(members):
            inside = state
            for first, last in sequence:
                inside = self.range(inside, first, last)
            self.epsilon(inside, after)
        return after

    def _concatenation(self, parts: tuple[Node, ...], state: int) -> int:
        word = bytearray()  # a run of single characters is one literal
        for part in parts:
            symbols = _symbols(part, self._spelling)
            if symbols and max(symbols) < NUM_BYTES:
                word += bytes(symbols)
                continue
            state = self.add(part, self.literal(state, bytes(word)))
            word.clear()
        return self.literal(state, bytes(word))

    def _repetition(self, node: Repetition, state: int) -> int:
        for _ in range(node.minimum):
            state = self.add(node.part, state)
        if node.maximum is None:
            loop = self.new_state()
            self.epsilon(state, loop)
            self.epsilon(self.add(node.part, loop), loop)
            return loop
        after = self.new_state()
        for _ in range(node.maximum - node.minimum):
            self.epsilon(state, after)
            state = self.add(node.part, state)
        self.epsilon(state, after)
        return after


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


def _non_empty(dfa: Dfa) -> Dfa:
    """The texts of `dfa` but the empty one: a second start that does not accept."""
    if dfa.label[dfa.start] == NO_LABEL:
        return dfa
    table = np.concatenate((dfa.next_state, dfa.next_state[dfa.start][None]))
    symbol_class = dfa.symbol_class.astype(np.int32)
    return build_dfa(table, symbol_class, np.append(dfa.label, np.int32(0)), len(dfa.label))


def _not_regular(node: Node) -> UnsupportedError:
    return UnsupportedError(
        "an anchor, a word boundary or a lookaround reads no text and is not supported in a "
        "grammar; write the terminal without it",
        keyword=type(node).__name__,
        place="a terminal",
    )
