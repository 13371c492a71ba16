"""PatternNfa: a pattern as a nondeterministic automaton, with edges on sets and on assertions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, assert_never

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

    def set_number(self, members: CharSet) -> int:
        """The number of a set."""
        return self.sets.setdefault(members, len(self.sets))

    def look_number(self, look: Look) -> int:
        """The number of a lookaround, negated or not; equal ones are built once."""
        known = self._look_numbers.get((look.part, look.is_ahead))
        if known is None:
            nfa = PatternNfa(self)
            for option in options_of(look.part):
                body, is_start_bound = (option, True) if look.is_ahead else strip_start(option)
                before = nfa.start if is_start_bound else nfa.add(ANY_TEXT, nfa.start)
                nfa.accept(nfa.add(body, before), any_text_follows=look.is_ahead)
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

    def add(self, node: Node, state: int) -> int:
        """Read `node` from `state` on; the state after it. No edge is ever added into `state`.

        Raises:
            LimitExceededError: too many states.
        """
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
                    state = self.add(part, state)
                return state
            case Alternation(options):
                after = self._new_state()
                for option in options:
                    self.epsilons.append((self.add(option, state), after))
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
        minimum, maximum = _bounds(node)
        if _num_copies(node) > NFA_STATES_PER_STATE * self.parts.max_states:
            raise LimitExceededError("max_states", self.parts.max_states, "a pattern's repetition")
        for _ in range(minimum):
            state = self.add(node.part, state)
        if maximum is None:
            loop = self._new_state()
            self.epsilons.append((state, loop))
            self.epsilons.append((self.add(node.part, loop), loop))
            return loop
        if maximum == minimum:
            return state
        after = self._new_state()
        first = self.num_states
        for _ in range(maximum - minimum):
            self.epsilons.append((state, after))
            state = self.add(node.part, state)
        self.epsilons.append((state, after))
        num_copies = maximum - minimum
        if num_copies > 1:
            size = (self.num_states - first) // num_copies
            self.optional_copies.append((num_copies, size, first))
        return after


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
        case Repetition(part):
            minimum, maximum = _bounds(node)
            return 1 + _num_copies(part) * max(minimum + (maximum is None), maximum or 0)
        case _:
            assert_never(node)


def _bounds(node: Repetition) -> tuple[int, int | None]:
    """How often the part is to be copied: what reads nothing is as good as once."""
    if _reads_nothing(node.part):
        return min(node.minimum, 1), 0 if node.maximum == 0 else 1
    return node.minimum, node.maximum


def _reads_nothing(node: Node) -> bool:
    """Whether the node is made of assertions alone, so that a repetition adds nothing to it."""
    match node:
        case Characters():
            return False
        case Anchor() | Look():
            return True
        case Concatenation(parts) | Alternation(parts):
            return all(map(_reads_nothing, parts))
        case Repetition(part, _, maximum):
            return maximum == 0 or _reads_nothing(part)
        case _:
            assert_never(node)
