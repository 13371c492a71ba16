"""PatternNfa: a pattern as a nondeterministic automaton, with edges on sets and on assertions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

import numpy as np

from grammars.automata.charset import ALL_CHARACTERS, CharSet
from grammars.automata.pattern_ast import (
    Alternation,
    Anchor,
    Characters,
    Concatenation,
    Look,
    Node,
    Repetition,
)
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NFA_STATES_PER_STATE = 4
"""NFA states granted for each deterministic state of the limit."""

MAX_LOOKAROUNDS: Final = 256
"""Lookarounds of one pattern that differ: each is an automaton that others are combined with."""

ANY_TEXT = Repetition(Characters(ALL_CHARACTERS), 0, None)


@dataclass(frozen=True, slots=True)
class LookGuard:
    """Passed where a lookaround holds.

    Args:
        number: its place in `PatternParts.looks`.
        is_negated: passed where it does not hold.
    """

    number: int
    is_negated: bool


Guard: TypeAlias = Anchor | LookGuard


@dataclass(slots=True)
class PatternParts:
    """What the automata of one pattern, that of the whole and those of its lookarounds, share.

    Args:
        max_states: states that the pattern may cost.
        sets: the sets that edges are on, numbered.
        looks: the lookarounds, inner ones first; each with whether it looks ahead.
    """

    max_states: int
    sets: dict[CharSet, int] = field(default_factory=dict)
    looks: list[tuple[PatternNfa, bool]] = field(default_factory=list)
    _look_numbers: dict[tuple[Node, bool], int] = field(default_factory=dict)
    _num_looks: int = 0

    def set_number(self, members: CharSet) -> int:
        """The number of a set."""
        return self.sets.setdefault(members, len(self.sets))

    def count_looks(self, number: int) -> None:
        """Count lookarounds that differ from all others.

        Raises:
            LimitExceededError: there are more than MAX_LOOKAROUNDS.
        """
        self._num_looks += number
        if self._num_looks > MAX_LOOKAROUNDS:
            raise LimitExceededError("max_lookarounds", MAX_LOOKAROUNDS, "a pattern")

    def look_number(self, look: Look) -> int:
        """The number of a lookaround, negated or not; equal ones are built once."""
        known = self._look_numbers.get((look.part, look.is_ahead))
        if known is None:
            self.count_looks(1)
            nfa = PatternNfa(self)
            for option in options_of(look.part):
                body, is_start_bound = (option, True) if look.is_ahead else strip_start(option)
                before = nfa.start if is_start_bound else nfa.read(ANY_TEXT, nfa.start)
                nfa.accept(nfa.read(body, before), any_text_follows=look.is_ahead)
            known = len(self.looks)
            self.looks.append((nfa, look.is_ahead))
            self._look_numbers[look.part, look.is_ahead] = known
        return known


@dataclass(slots=True)
class PatternNfa:
    """Thompson's construction (CACM 11(6), 1968).

    Args:
        parts: what is shared with the other automata of the pattern.
        start: the initial state.
        num_states: states are 0 .. num_states - 1.
        edges: source, number of a set, target.
        epsilons: source, target.
        guards: edges that read nothing and are passed where an assertion holds.
        accepting: states in which the text may end.
        accepts_all: the one of them from which every text is accepted, if there is one.
        optional_copies: repetitions, written out: number of the copies that may be left out, states
            of each, first state of the first. A state in one copy accepts all that its fellow in a
            later copy does, since it may leave out more.
    """

    parts: PatternParts
    start: int = 0
    num_states: int = 1
    edges: list[tuple[int, int, int]] = field(default_factory=list)
    epsilons: list[tuple[int, int]] = field(default_factory=list)
    guards: list[tuple[int, Guard, int]] = field(default_factory=list)
    accepting: list[int] = field(default_factory=list)
    accepts_all: int | None = None
    optional_copies: list[tuple[int, int, int]] = field(default_factory=list)

    def fellows(self) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """The groups and ranks of `Nfa` that optional copies give; None where there are none.

        A state in copies inside copies is in the group of those that are more.
        """
        if not self.optional_copies:
            return None
        group = np.zeros(self.num_states, np.int32)
        rank = np.zeros(self.num_states, np.int32)
        num_groups = 1
        for num_copies, size, first in sorted(self.optional_copies):
            span = slice(first, first + num_copies * size)
            group[span] = np.tile(np.arange(num_groups, num_groups + size), num_copies)
            rank[span] = np.repeat(np.arange(num_copies), size)
            num_groups += size
        return group, rank

    def accept(self, state: int, *, any_text_follows: bool = False) -> None:
        """Let the text end in `state`, or go on in any way."""
        if any_text_follows:
            if self.accepts_all is None:
                self.accepts_all = self._new_state()
                every = self.parts.set_number(ALL_CHARACTERS)
                self.edges.append((self.accepts_all, every, self.accepts_all))
                self.accepting.append(self.accepts_all)
            self.epsilons.append((state, self.accepts_all))
        else:
            self.accepting.append(state)

    def read(self, node: Node, state: int) -> int:
        """Read `node` from `state` on; the state after it.

        Raises:
            LimitExceededError: too many states.
        """
        if _num_copies(node) > NFA_STATES_PER_STATE * self.parts.max_states:
            raise LimitExceededError("max_states", self.parts.max_states, "a pattern")
        return self._add(node, state)

    def _add(self, node: Node, state: int) -> int:
        """The state after `node`. No edge is ever added into `state`."""
        match node:
            case Characters(members):
                after = self._new_state()
                self.edges.append((state, self.parts.set_number(members), after))
                return after
            case Anchor():
                return self._guard(state, node)
            case Look():
                return self._guard(state, LookGuard(self.parts.look_number(node), node.is_negated))
            case Concatenation(parts):
                for part in parts:
                    state = self._add(part, state)
                return state
            case Alternation(options):
                after = self._new_state()
                for option in options:
                    self.epsilons.append((self._add(option, state), after))
                return after
            case Repetition():
                return self._repeat(node, state)
            case _:
                assert_never(node)

    def _new_state(self) -> int:
        self.num_states += 1
        if self.num_states > NFA_STATES_PER_STATE * self.parts.max_states:
            raise LimitExceededError("max_states", self.parts.max_states, "a pattern")
        return self.num_states - 1

    def _guard(self, state: int, guard: Guard) -> int:
        after = self._new_state()
        self.guards.append((state, guard, after))
        return after

    def _repeat(self, node: Repetition, state: int) -> int:
        part, minimum, maximum = node.part, node.minimum, node.maximum
        if maximum is None:
            return self._repeat_endlessly(part, minimum, state)
        for _ in range(minimum):
            state = self._add(part, state)
        if maximum == minimum:
            return state
        after = self._new_state()
        first = self.num_states
        num_copies = maximum - minimum
        for _ in range(num_copies):
            self.epsilons.append((state, after))
            state = self._add(part, state)
        self.epsilons.append((state, after))
        if num_copies > 1:
            size = (self.num_states - first) // num_copies
            self.optional_copies.append((num_copies, size, first))
        return after

    def _repeat_endlessly(self, part: Node, minimum: int, state: int) -> int:
        """With at least one, the last copy is the loop: else `+` in `+` would double each time."""
        for _ in range(minimum - 1):
            state = self._add(part, state)
        loop = self._new_state()
        self.epsilons.append((state, loop))
        after = self._add(part, loop)
        self.epsilons.append((after, loop))
        return after if minimum > 0 else loop


def options_of(node: Node) -> tuple[Node, ...]:
    """The alternatives at the top of a pattern."""
    return node.options if isinstance(node, Alternation) else (node,)


def strip_start(node: Node) -> tuple[Concatenation, bool]:
    """What is behind any leading ^, and whether there is one."""
    parts = list(node.parts) if isinstance(node, Concatenation) else [node]
    is_start_bound = False
    while parts and parts[0] is Anchor.START:
        is_start_bound = True
        del parts[0]
    return Concatenation(tuple(parts)), is_start_bound


def strip_end(node: Concatenation) -> tuple[Concatenation, bool]:
    """What is before any trailing $, and whether there is one."""
    parts = list(node.parts)
    is_end_bound = False
    while parts and parts[-1] is Anchor.END:
        is_end_bound = True
        del parts[-1]
    return Concatenation(tuple(parts)), is_end_bound


def _num_copies(node: Node) -> int:
    """About how many NFA states the node needs; repetitions multiply."""
    match node:
        case Characters() | Anchor() | Look():
            return 1
        case Concatenation(parts) | Alternation(parts):
            return 1 + sum(map(_num_copies, parts))
        case Repetition(part, minimum, maximum):
            return 1 + _num_copies(part) * (max(minimum, 1) if maximum is None else maximum)
        case _:
            assert_never(node)
