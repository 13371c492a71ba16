"""RuleNfa: one rule as an automaton over terminals and calls of rules.

A grammar whose rules are automata is a recursive transition network (W. Woods, "Transition network
grammars for natural language analysis", 1970).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.automata.minimise import FIRST_ACCEPTING_KIND, minimise_table
from grammars.automata.subset import Nfa, determinise
from grammars.cfg.syntax import Options, Reference, Repeated, Series, Text
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.cfg.syntax import Expression

Symbol: TypeAlias = int
"""What an edge reads: terminal i is 2i, a text of rule i is 2i + 1."""

MAX_TABLE_ENTRIES: Final = 1 << 25
"""States times symbols of the automaton of one rule: 128 MiB."""

START: Final = 0
"""The state in which every rule's automaton begins."""


def terminal_symbol(terminal: int) -> Symbol:
    """The symbol of a terminal."""
    return 2 * terminal


def call_symbol(rule: int) -> Symbol:
    """The symbol of a call."""
    return 2 * rule + 1


def is_call(symbol: Symbol) -> bool:
    """Whether a symbol is a call; its number is `symbol // 2` either way."""
    return symbol % 2 == 1


class Edge(NamedTuple):
    """An edge of a rule's automaton; symbol None reads nothing."""

    source: int
    symbol: Symbol | None
    target: int


@dataclass(slots=True)
class RuleNfa:
    """Thompson's construction (CACM 11(6), 1968) of one rule.

    Args:
        terminal: number of a text, and whether it may be empty.
        rule: number of a rule's name.
        max_states: states granted.
    """

    terminal: Callable[[Text], tuple[int, bool]]
    rule: Callable[[Reference], int]
    max_states: int
    num_states: int = 1
    end: int = 0
    edges: list[Edge] = field(default_factory=list)

    def build(self, expression: Expression) -> None:
        """Let the automaton read the texts of `expression`."""
        self.end = self._add(expression, START)

    def _new_state(self) -> int:
        self.num_states += 1
        if self.num_states > self.max_states:
            raise LimitExceededError("max_states", self.max_states, "a rule of the grammar")
        return self.num_states - 1

    def _edge(self, source: int, symbol: Symbol | None, target: int) -> int:
        self.edges.append(Edge(source, symbol, target))
        return target

    def _add(self, expression: Expression, state: int) -> int:
        """The state after `expression`. No edge is ever added into `state`."""
        match expression:
            case Text():
                number, is_nullable = self.terminal(expression)
                after = self._edge(state, terminal_symbol(number), self._new_state())
                if is_nullable:
                    self._edge(state, None, after)
                return after
            case Reference():
                return self._edge(state, call_symbol(self.rule(expression)), self._new_state())
            case Series(parts):
                for part in parts:
                    state = self._add(part, state)
                return state
            case Options(options):
                after = self._new_state()
                for option in options:
                    self._edge(self._add(option, state), None, after)
                return after
            case Repeated():
                return self._repeated(expression, state)

    def _repeated(self, expression: Repeated, state: int) -> int:
        part, minimum, maximum = expression.part, expression.minimum, expression.maximum
        if maximum is None:
            return self._repeated_endlessly(part, minimum, state)
        for _ in range(minimum):
            state = self._add(part, state)
        after = self._new_state()
        for _ in range(maximum - minimum):
            self._edge(state, None, after)
            state = self._add(part, state)
        return self._edge(state, None, after)

    def _repeated_endlessly(self, part: Expression, minimum: int, state: int) -> int:
        """With at least one, the last copy is the loop: else `+` in `+` would double each time."""
        for _ in range(minimum - 1):
            state = self._add(part, state)
        loop = self._edge(state, None, self._new_state())
        after = self._add(part, loop)
        self._edge(after, None, loop)
        return after if minimum > 0 else loop


@dataclass(frozen=True, slots=True)
class RuleDfa:
    """The minimal automaton of the non-empty texts of a rule, over symbols; no symbol is empty.

    Args:
        edges: by state, symbol -> target. State 0 is the start; no edge leads to it, and it is not
            final. Every state leads to a final one.
        is_final: by state.
    """

    edges: tuple[dict[Symbol, int], ...]
    is_final: tuple[bool, ...]


def rule_dfa(num_states: int, end: int, edges: list[Edge], *, max_states: int) -> RuleDfa | None:
    """Make a rule deterministic; None where it has no text but perhaps the empty one.

    Args:
        num_states: states of the rule's automaton.
        end: its accepting state.
        edges: its edges, without those of what has no text.
        max_states: states at most.
    """
    symbols = sorted({edge.symbol for edge in edges if edge.symbol is not None})
    number = {symbol: i for i, symbol in enumerate(symbols)}
    max_states = min(max_states, MAX_TABLE_ENTRIES // max(1, len(symbols)))
    if num_states > max_states:
        raise LimitExceededError("max_states", max_states, "a rule of the grammar")
    reading = np.array(
        [(e.source, number[e.symbol], e.target) for e in edges if e.symbol is not None], np.int32
    ).reshape(-1, 3)
    silent = np.array([(e.source, e.target) for e in edges if e.symbol is None], np.int32)
    silent = silent.reshape(-1, 2)
    accepting = np.zeros(num_states, np.bool_)
    accepting[end] = True
    column = np.ascontiguousarray(reading[:, 1])
    table = determinise(
        Nfa(
            num_states=num_states,
            start=START,
            epsilon_source=np.ascontiguousarray(silent[:, 0]),
            epsilon_target=np.ascontiguousarray(silent[:, 1]),
            source=np.ascontiguousarray(reading[:, 0]),
            low=column,
            high=column,
            target=np.ascontiguousarray(reading[:, 2]),
            accepting=accepting,
            num_symbols=max(1, len(symbols)),
        ),
        max_states=max_states,
        what="a rule of the grammar",
    )
    is_final = np.zeros(len(table.next_state), np.bool_)
    is_final[table.state_of_item()[accepting[table.set_items]]] = True
    minimal = minimise_table(
        table.next_state, table.start, np.where(is_final, FIRST_ACCEPTING_KIND, 0).astype(np.int32)
    )
    if minimal.start == DEAD:
        return None
    rows = minimal.next_state.tolist()
    rows[DEAD] = rows[minimal.start]  # a second start, which no edge leads to and is not final
    by_state = tuple(
        {symbols[i]: target for i, target in enumerate(row) if target != DEAD} for row in rows
    )
    final = (False, *is_final[minimal.old_state[1:]].tolist())
    return None if not by_state[0] else RuleDfa(by_state, final)
