"""Kernels that write the rows of an automaton and of a structural state into the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from grammars.automata.character_groups import ASCII_GROUPS, GROUP_OF_BYTE
from grammars.automata.dfa import NUM_BYTES
from grammars.automata.kernels import kernel
from grammars.automata.owed import characters_owed
from grammars.pushdown.columns import (
    ACTIONS,
    CLASSES,
    COUNT_MAX,
    COUNT_MIN,
    FAR_SET,
    FAR_SPANS,
    FULL_OUTCOME,
    GOTO,
    IS_BOUNDARY,
    IS_CLOSED,
    IS_FINAL,
    LABEL,
    LEXER_START,
    NUM_LABELS,
    NUM_LEADING,
    NUM_SYMBOLS,
    OWED,
    POP,
    REACH,
    RESUMES,
    STEADY,
    TRANSITIONS,
    WINDOW,
)
from grammars.pushdown.layout import (
    ALL_LABELS,
    MAX_WINDOW_LABELS,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.automata.kernels import Bools, Ints

Rows: TypeAlias = "NDArray[np.int64]"


_EVERY_LABEL: Final = int(ALL_LABELS)

_owed: Final[WeakKeyDictionary[Dfa, NDArray[np.int32]]] = WeakKeyDictionary()


def owed_of(dfa: Dfa) -> NDArray[np.int32]:
    """`characters_owed`, remembered for as long as the automaton is."""
    if not np.count_nonzero(dfa.char_boundary):
        return np.zeros(dfa.num_states, np.int32)
    known = _owed.get(dfa)
    if known is None:
        known = _owed[dfa] = characters_owed(dfa)
    return known


@kernel
def write_dfa(
    next_state: Ints,
    symbol_class: NDArray[np.uint16],
    label: Ints,
    is_boundary: Bools,
    owed: Ints,
    lexers: Rows,
    transitions: Ints,
    classes: NDArray[np.uint16],
    first: int,
    transition: int,
    symbol: int,
) -> None:
    """Write the live states of a `Dfa` (its fields come first) into the tables.

    Args:
        next_state: see `Dfa`, as the next three.
        symbol_class: uint16, (num_symbols,).
        label: int32, (num_states,).
        is_boundary: bool, (num_states,).
        owed: int32, (num_states,), see `characters_owed`.
        lexers: see `TableArrays`, as the next two.
        transitions: int32.
        classes: uint16.
        first: the row of state 1 in `lexers`.
        transition: where in `transitions` its row begins.
        symbol: where in `classes` the automaton's begin.
    """
    num_states, num_classes = next_state.shape
    num_symbols = symbol_class.shape[0]
    sizes = np.zeros(num_classes, np.int32)  # bytes of each class
    groups = np.zeros(num_classes, np.int64)  # bits of the groups of these
    for i in range(num_symbols):
        classes[symbol + i] = symbol_class[i]
        if i < NUM_BYTES:
            sizes[symbol_class[i]] += 1
            groups[symbol_class[i]] |= np.int64(1) << np.int64(GROUP_OF_BYTE[i])
    for state in range(1, num_states):
        row = first + state - 1
        begin = transition + (state - 1) * num_classes
        is_closed = label[state] != 0
        num_leading = np.int64(0)
        others = np.int64(0)  # groups of which some character leads elsewhere
        for column in range(num_classes):
            target = next_state[state, column]
            if target != state:
                others |= groups[column]
            if target != 0:
                is_closed = False
                num_leading += sizes[column]
                transitions[begin + column] = target + first - 1
            else:
                transitions[begin + column] = 0
        lexers[row, TRANSITIONS] = begin
        lexers[row, CLASSES] = symbol
        lexers[row, NUM_SYMBOLS] = num_symbols
        lexers[row, LABEL] = label[state]
        lexers[row, IS_CLOSED] = is_closed
        lexers[row, IS_BOUNDARY] = is_boundary[state]
        lexers[row, REACH] = _EVERY_LABEL
        lexers[row, OWED] = owed[state]
        lexers[row, NUM_LEADING] = num_leading
        lexers[row, STEADY] = 0 if is_boundary[state] else ASCII_GROUPS & ~others


@kernel
def write_state(
    states: Rows,
    actions: Rows,
    state: int,
    lexer_start: int,
    first_action: int,
    num_labels: int,
    is_final: bool,
    count_min: int,
    count_max: int,
    full_outcome: int,
    window: int,
    far_set: int,
    far_spans: int,
    goto_labels: int,
    goto_target: int,
    pop_labels: int,
    pop_outcome: int,
) -> None:
    """Write the row of a structural state, and the actions that are known as it is made.

    Args:
        states: see `TableArrays`.
        actions: see `TableArrays`.
        state: its row, as the columns that follow.
        lexer_start: see `StateColumn`, as all up to `far_spans`.
        first_action: row of label 1.
        num_labels: labels.
        is_final: flag.
        count_min: characters.
        count_max: characters.
        full_outcome: outcome id.
        window: bits of labels.
        far_set: begin of a set of labels.
        far_spans: offset of spans.
        goto_labels: bit l - 1 is set for the labels that lead to `goto_target`.
        goto_target: a state.
        pop_labels: bits of the labels that pop with `pop_outcome`.
        pop_outcome: outcome id.
    """
    states[state, LEXER_START] = lexer_start
    states[state, ACTIONS] = first_action
    states[state, NUM_LABELS] = num_labels
    states[state, IS_FINAL] = is_final
    states[state, COUNT_MIN] = count_min
    states[state, COUNT_MAX] = count_max
    states[state, FULL_OUTCOME] = full_outcome
    states[state, RESUMES] = 0
    states[state, WINDOW] = window
    states[state, FAR_SET] = far_set
    states[state, FAR_SPANS] = far_spans
    for label in range(min(num_labels, MAX_WINDOW_LABELS)):
        row = first_action + label
        if (goto_labels >> label) & 1:
            actions[row, 0] = GOTO
            actions[row, 1] = goto_target
        elif (pop_labels >> label) & 1:
            actions[row, 0] = POP
            actions[row, 1] = pop_outcome
