"""Patterns as automata: `fullmatch` for whole texts, `search` for JSON Schema's `pattern`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

import numpy as np

from grammars.automata.anchors import resolve_anchors
from grammars.automata.charset import ALL_CHARACTERS, NUM_CODE_POINTS
from grammars.automata.codepoint_dfa import DEFAULT_MAX_STATES, CodePointDfa, build_codepoint_dfa
from grammars.automata.pattern import parse_pattern
from grammars.automata.pattern_ast import (
    Alternation,
    Anchor,
    Characters,
    Concatenation,
    Node,
    Repetition,
)
from grammars.automata.subset import Nfa, determinise
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.charset import CharSet

NFA_STATES_PER_STATE = 4
"""NFA states granted for each deterministic state of the limit."""


def fullmatch(
    pattern: str, *, max_states: int = DEFAULT_MAX_STATES, pointer: str = ""
) -> CodePointDfa:
    """The strings that match `pattern` as a whole.

    Raises:
        InvalidGrammarError, UnsupportedError: see `parse_pattern`.
        LimitExceededError: the automaton needs more than `max_states` states.
    """
    builder = _NfaBuilder(max_states)
    builder.accept(builder.add(parse_pattern(pattern, pointer=pointer), builder.start))
    return builder.determinise()


def search(
    pattern: str, *, max_states: int = DEFAULT_MAX_STATES, pointer: str = ""
) -> CodePointDfa:
    """The strings that hold a match of `pattern` somewhere; raises as `fullmatch` does."""
    builder = _NfaBuilder(max_states)
    root = parse_pattern(pattern, pointer=pointer)
    for option in root.options if isinstance(root, Alternation) else (root,):
        body, is_start_bound, is_end_bound = _strip_anchors(option)
        state = builder.start if is_start_bound else builder.add(_ANY_TEXT, builder.start)
        state = builder.add(body, state)
        builder.accept(state, any_text_follows=not is_end_bound)
    return builder.determinise()


_ANY_TEXT = Repetition(Characters(ALL_CHARACTERS), 0, None)


def _strip_anchors(node: Node) -> tuple[Node, bool, bool]:
    """What is between a leading ^ and a trailing $, and whether each is there."""
    parts = list(node.parts) if isinstance(node, Concatenation) else [node]
    is_start_bound = is_end_bound = False
    while parts and parts[0] is Anchor.START:
        is_start_bound = True
        del parts[0]
    while parts and parts[-1] is Anchor.END:
        is_end_bound = True
        del parts[-1]
    return Concatenation(tuple(parts)), is_start_bound, is_end_bound


def _num_copies(node: Node) -> int:
    """About how many NFA states the node needs; repetitions multiply."""
    match node:
        case Characters() | Anchor():
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
    """Whether the node is made of anchors alone, so that a repetition adds nothing to it."""
    match node:
        case Characters():
            return False
        case Anchor():
            return True
        case Concatenation(parts) | Alternation(parts):
            return all(map(_reads_nothing, parts))
        case Repetition(part, _, maximum):
            return maximum == 0 or _reads_nothing(part)
        case _:
            assert_never(node)


@dataclass(slots=True)
class _NfaBuilder:
    """Thompson's construction (CACM 11(6), 1968), with edges on sets and on anchors."""

    max_states: int
    start: int = 0
    num_states: int = 1
    sets: dict[CharSet, int] = field(default_factory=dict)
    edges: list[tuple[int, int, int]] = field(default_factory=list)  # source, set, target
    epsilons: list[tuple[int, int]] = field(default_factory=list)
    anchors: list[tuple[int, Anchor, int]] = field(default_factory=list)
    accepting: list[int] = field(default_factory=list)
    accepts_all: int | None = None  # the state from which every text is accepted

    def new_state(self) -> int:
        self.num_states += 1
        if self.num_states > NFA_STATES_PER_STATE * self.max_states:
            raise LimitExceededError("max_states", self.max_states, "a pattern")
        return self.num_states - 1

    def accept(self, state: int, *, any_text_follows: bool = False) -> None:
        if any_text_follows:
            if self.accepts_all is None:
                self.accepts_all = self.new_state()
                self.edges.append(
                    (self.accepts_all, self.set_number(ALL_CHARACTERS), self.accepts_all)
                )
                self.accepting.append(self.accepts_all)
            self.epsilons.append((state, self.accepts_all))
        else:
            self.accepting.append(state)

    def set_number(self, members: CharSet) -> int:
        return self.sets.setdefault(members, len(self.sets))

    def add(self, node: Node, state: int) -> int:
        """Read `node` from `state` on; the state after it. No edge is ever added into `state`."""
        match node:
            case Characters(members):
                after = self.new_state()
                self.edges.append((state, self.set_number(members), after))
                return after
            case Anchor():
                after = self.new_state()
                self.anchors.append((state, node, after))
                return after
            case Concatenation(parts):
                for part in parts:
                    state = self.add(part, state)
                return state
            case Alternation(options):
                after = self.new_state()
                for option in options:
                    self.epsilons.append((self.add(option, state), after))
                return after
            case Repetition():
                return self._repeat(node, state)
            case _:
                assert_never(node)

    def _repeat(self, node: Repetition, state: int) -> int:
        minimum, maximum = _bounds(node)
        if _num_copies(node) > NFA_STATES_PER_STATE * self.max_states:
            raise LimitExceededError("max_states", self.max_states, "a pattern's repetition")
        for _ in range(minimum):
            state = self.add(node.part, state)
        if maximum is None:
            loop = self.new_state()
            self.epsilons.append((state, loop))
            self.epsilons.append((self.add(node.part, loop), loop))
            return loop
        if maximum == minimum:
            return state
        after = self.new_state()
        for _ in range(maximum - minimum):
            self.epsilons.append((state, after))
            state = self.add(node.part, state)
        self.epsilons.append((state, after))
        return after

    def determinise(self) -> CodePointDfa:
        partition = _partition(list(self.sets))
        edges = [
            (source, low, high, target)
            for source, number, target in self.edges
            for low, high in partition.class_runs[number]
        ]
        source, low, high, target = np.array(edges, np.int32).reshape(-1, 4).T.copy()
        epsilon_source, epsilon_target = np.array(self.epsilons, np.int32).reshape(-1, 2).T.copy()
        accepting = np.zeros(self.num_states, np.bool_)
        accepting[self.accepting] = True
        nfa = Nfa(
            num_states=self.num_states,
            start=self.start,
            epsilon_source=epsilon_source,
            epsilon_target=epsilon_target,
            source=source,
            low=low,
            high=high,
            target=target,
            accepting=accepting,
            num_symbols=partition.num_classes,
            accepts_all=self.accepts_all,
        )
        if self.anchors:
            nfa = resolve_anchors(nfa, self.anchors)
        table = determinise(nfa, max_states=self.max_states, what="a pattern")
        is_accepting = np.zeros(table.next_state.shape[0], np.bool_)
        is_accepting[table.state_of_item()[nfa.accepting[table.set_items]]] = True
        return build_codepoint_dfa(
            partition.range_start,
            partition.range_class,
            table.next_state,
            table.start,
            is_accepting,
        )


@dataclass(frozen=True, slots=True)
class _Partition:
    """The coarsest classes of code points that a list of sets does not tell apart.

    Args:
        range_start, range_class: as in `CodePointDfa`; class 0 is in no set.
        num_classes: class 0 included.
        class_runs: for each set, its classes as inclusive runs.
    """

    range_start: NDArray[np.int32]
    range_class: NDArray[np.int32]
    num_classes: int
    class_runs: list[list[tuple[int, int]]]


def _partition(sets: list[CharSet]) -> _Partition:
    starts = np.array(sorted({0}.union(*(members.bounds for members in sets))), np.int32)
    starts = starts[starts < NUM_CODE_POINTS]
    is_member = np.empty((len(sets), starts.shape[0]), np.bool_)
    signature = np.zeros(starts.shape[0], np.int64)  # which sets a range is in; 0: none
    for number, members in enumerate(sets):
        is_member[number] = np.searchsorted(members.bounds, starts, side="right") % 2
        if number % 32 == 31:  # make room for the next bits
            signature = np.unique(signature, return_inverse=True)[1]
        signature = 2 * signature + is_member[number]
    # Surrogates are in no set, so signature 0 exists and becomes class 0.
    values, representative, range_class = np.unique(
        signature, return_index=True, return_inverse=True
    )
    class_runs = [_runs(np.flatnonzero(row).tolist()) for row in is_member[:, representative]]
    return _Partition(starts, range_class.astype(np.int32), values.shape[0], class_runs)


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as inclusive runs."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
