"""CodePointDfa: a minimal automaton over Unicode characters, closed under boolean operations.

The language of a JSON string's *decoded* content. How the content is spelled in bytes is added
afterwards, by `json_string`; so lengths, patterns, escapes and UTF-8 never mix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.charset import FIRST_SURROGATE, LAST_SURROGATE, NUM_CODE_POINTS
from grammars.automata.classes import merge_columns
from grammars.automata.combination import Operand, combine
from grammars.automata.dfa import DEAD
from grammars.automata.edges import edges_of
from grammars.automata.length_product import length_product
from grammars.automata.lengths import lengths_of
from grammars.automata.minimise import FIRST_ACCEPTING_KIND, minimise_table
from grammars.automata.product import Operation
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from grammars.automata.edges import Edges

DEFAULT_MAX_STATES: Final = 50_000
"""Deterministic states at most, where the caller names no limit of its own."""

_CHARACTER_RANGES: Final = np.array((0, FIRST_SURROGATE, LAST_SURROGATE + 1), np.int32)
_CHARACTER_CLASSES: Final = np.array((1, 0, 1), np.int32)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class CodePointDfa:
    """A trimmed automaton over code points; minimal, but for that of a long list (`StringList`).

    Args:
        range_start: int32, (num_ranges,), ascending from 0; range i is range_start[i] ..
            range_start[i + 1] - 1, the last one ends at U+10FFFF.
        range_class: int32, (num_ranges,); the class of the code points of a range. Surrogates are
            of class 0.
        next_state: int32, (num_states, num_classes); row DEAD and column 0 are all DEAD.
        accepting: bool, (num_states,).
        start: the initial state; DEAD for the empty language.
    """

    range_start: NDArray[np.int32]
    range_class: NDArray[np.int32]
    next_state: NDArray[np.int32]
    accepting: NDArray[np.bool_]
    start: int

    @property
    def num_states(self) -> int:
        """How many states there are, DEAD included."""
        return int(self.next_state.shape[0])

    @property
    def is_empty(self) -> bool:
        """Whether no string at all is accepted."""
        return self.start == DEAD

    @property
    def num_bytes(self) -> int:
        """The memory that it takes, about."""
        return self.next_state.nbytes

    def edge_lists(self) -> Edges:
        """All live steps, by state and class."""
        return edges_of(self.next_state)

    def step(self, state: int, code_point: int) -> int:
        """The state after one character."""
        index = int(np.searchsorted(self.range_start, code_point, side="right")) - 1
        return int(self.next_state[state, self.range_class[index]])

    def edges(self, state: int) -> Iterator[tuple[int, int, int]]:
        """The live steps of a state: first and last code point of a range, and the target."""
        ends = np.append(self.range_start[1:], NUM_CODE_POINTS)
        targets = self.next_state[state, self.range_class]
        for index in np.flatnonzero(targets != DEAD):
            yield int(self.range_start[index]), int(ends[index]) - 1, int(targets[index])

    def accepts(self, text: str) -> bool:
        """Whether `text` as a whole is in the language."""
        state = self.start
        for character in text:
            state = self.step(state, ord(character))
        return bool(self.accepting[state])

    def intersect(
        self, other: CodePointDfa, *, max_states: int = DEFAULT_MAX_STATES
    ) -> CodePointDfa:
        """The strings in both languages; one of them itself where the other says nothing."""
        if self.is_empty or other is any_string():
            return self
        if other.is_empty or self is any_string():
            return other
        return _combine(Operation.INTERSECT, self, other, max_states)

    def union(self, other: CodePointDfa, *, max_states: int = DEFAULT_MAX_STATES) -> CodePointDfa:
        """The strings in either language."""
        return _combine(Operation.UNION, self, other, max_states)

    def difference(
        self, other: CodePointDfa, *, max_states: int = DEFAULT_MAX_STATES
    ) -> CodePointDfa:
        """The strings of this language that are not in `other`."""
        if self is any_string():
            return other.complement()
        return _combine(Operation.DIFFERENCE, self, other, max_states)

    def complement(self) -> CodePointDfa:
        """All strings that are not in the language."""
        return _complement(self)

    def has_lengths(self, minimum: int, maximum: int | None) -> bool:
        """Whether all strings, of which there are some, have minimum .. maximum characters."""
        lengths = lengths_of(self.next_state, self.accepting, self.start)
        is_short = maximum is None or (lengths.longest is not None and lengths.longest <= maximum)
        return minimum <= lengths.shortest and is_short

    def with_length(
        self, minimum: int = 0, maximum: int | None = None, *, max_states: int = DEFAULT_MAX_STATES
    ) -> CodePointDfa:
        """The strings of minimum .. maximum characters (None: no upper bound).

        The same object where all strings are; in general the intersection with
        `any_string_of_length`, sooner, because the automaton is minimal.

        Raises:
            LimitExceededError: it needs more than `max_states` states.
        """
        if self.is_empty or self.has_lengths(minimum, maximum):
            return self
        table, accepting, start = length_product(
            self.next_state,
            self.accepting,
            self.start,
            minimum,
            maximum,
            max_states=max_states,
            what="a string of bounded length",
        )
        return with_merged_classes(self.range_start, self.range_class, table, start, accepting)


def build_codepoint_dfa(
    range_start: NDArray[np.int32],
    range_atom: NDArray[np.int32],
    next_state: NDArray[np.int32],
    start: int,
    accepting: NDArray[np.bool_],
) -> CodePointDfa:
    """Minimise a table over atoms of code points and merge the atoms that no state tells apart.

    Args:
        range_start: as in `CodePointDfa`.
        range_atom: int32, (num_ranges,); the column of each range. Surrogates must lead nowhere.
        next_state: int32, (num_states, num_atoms); row DEAD is all DEAD. It need not be trimmed.
        start: the initial state.
        accepting: bool, (num_states,).
    """
    minimal = minimise_table(
        next_state, start, np.where(accepting, FIRST_ACCEPTING_KIND, 0).astype(np.int32)
    )
    return with_merged_classes(
        range_start,
        range_atom,
        minimal.next_state,
        minimal.start,
        accepting[minimal.old_state],
    )


def with_merged_classes(
    range_start: NDArray[np.int32],
    range_atom: NDArray[np.int32],
    next_state: NDArray[np.int32],
    start: int,
    accepting: NDArray[np.bool_],
) -> CodePointDfa:
    """The automaton of a minimal table, with one class for atoms that no state tells apart.

    The arguments are those of `build_codepoint_dfa`.
    """
    range_class, table = merge_columns(next_state, range_atom)
    is_first = np.empty(range_class.shape[0], np.bool_)
    is_first[0] = True
    np.not_equal(range_class[1:], range_class[:-1], out=is_first[1:])
    return CodePointDfa(range_start[is_first], range_class[is_first], table, accepting, start)


@lru_cache(maxsize=1)
def any_string() -> CodePointDfa:
    """Every string of characters, the empty one included."""
    return any_string_of_length(0, None)


def any_string_of_length(
    minimum: int, maximum: int | None, *, max_states: int = DEFAULT_MAX_STATES
) -> CodePointDfa:
    """Every string of minimum .. maximum characters (None: no upper bound)."""
    longest = minimum if maximum is None else maximum
    if longest >= max_states:
        raise LimitExceededError("max_states", max_states, f"a string of {longest} characters")
    num_states = longest + 2  # DEAD, then one state for each length
    table = np.zeros((num_states, 2), np.int32)
    table[1:-1, 1] = np.arange(2, num_states)
    if maximum is None:
        table[-1, 1] = num_states - 1
    accepting = np.arange(num_states) > minimum
    if maximum is not None and minimum > maximum:
        return no_string()
    return CodePointDfa(_CHARACTER_RANGES.copy(), _CHARACTER_CLASSES.copy(), table, accepting, 1)


def no_string() -> CodePointDfa:
    """The empty language."""
    return CodePointDfa(
        _CHARACTER_RANGES.copy(),
        np.zeros(3, np.int32),
        np.zeros((1, 1), np.int32),
        np.zeros(1, np.bool_),
        DEAD,
    )


def _complement(dfa: CodePointDfa) -> CodePointDfa:
    """Accept what was refused; a new last state takes the texts that led nowhere.

    The result is minimal because `dfa` is: only the new state can be superfluous, and the one
    state (if any) from which everything was accepted.
    """
    starts = np.union1d(dfa.range_start, _CHARACTER_RANGES)
    classes = dfa.range_class[np.searchsorted(dfa.range_start, starts, side="right") - 1]
    num_states, num_classes = dfa.next_state.shape
    classes[(classes == 0) & (starts != FIRST_SURROGATE)] = num_classes
    if num_classes not in classes:
        num_classes -= 1
    table = np.full((num_states + 1, num_classes + 1), num_states, np.int32)
    table[:-1, : dfa.next_state.shape[1]] = np.where(
        dfa.next_state == DEAD, num_states, dfa.next_state
    )
    table[:, 0] = DEAD
    accepting = np.append(~dfa.accepting, True)
    start = num_states if dfa.is_empty else dfa.start

    itself = np.arange(num_states + 1)
    keep = accepting | (table[:, 1:] != itself[:, None]).any(axis=1)
    keep[num_states] = start == num_states or bool((table[1:num_states] == num_states).any())
    keep[DEAD] = True
    number = np.where(keep, np.cumsum(keep) - 1, DEAD).astype(np.int32)
    table = number[table[keep]]
    table[DEAD] = DEAD
    accepting = accepting[keep]
    accepting[DEAD] = False
    return CodePointDfa(starts.astype(np.int32), classes, table, accepting, int(number[start]))


def _combine(
    operation: Operation, left: CodePointDfa, right: CodePointDfa, max_states: int
) -> CodePointDfa:
    starts = np.union1d(left.range_start, right.range_start)
    result = combine(
        operation,
        _operand(left, starts),
        _operand(right, starts),
        max_states=max_states,
        what="a combination of string constraints",
    )
    return with_merged_classes(
        starts, result.item_class, result.next_state, result.start, result.accepting
    )


def _operand(dfa: CodePointDfa, starts: NDArray[np.int32]) -> Operand:
    """The automaton over the ranges that begin at `starts`, which refine its own."""
    item_class = dfa.range_class[np.searchsorted(dfa.range_start, starts, side="right") - 1]
    unmarked = np.zeros(dfa.num_states, np.bool_)
    return Operand(dfa.next_state, dfa.start, item_class, dfa.accepting, unmarked)
