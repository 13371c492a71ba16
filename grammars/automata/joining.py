"""join: several automata as one, where the first symbol of a text tells which of them reads it.

So it is with the values of JSON: a string begins with a quote, a number with a digit or a sign.
Their automata are put side by side as they are; nothing has to be determinised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import Dfa
from grammars.automata.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from grammars.automata.kernels import Bools, Ints

    Classes = NDArray[np.uint16]


def join(parts: Iterable[Dfa]) -> Dfa | None:
    """The automaton of the texts of all `parts`; the labels of each come after those before it.

    None where two of them may begin with the same symbol, or where one comes back to its start.

    Args:
        parts: at least one; none accepts nothing, or the empty text.
    """
    joined, *others = parts
    for part in others:
        both = _join_two(joined, part)
        if both is None:
            return None
        joined = both
    return joined


def _join_two(left: Dfa, right: Dfa) -> Dfa | None:
    symbol_class, next_state, label, is_boundary = _side_by_side(
        left.symbol_class,
        left.next_state,
        left.label,
        left.char_boundary,
        left.start,
        right.symbol_class,
        right.next_state,
        right.label,
        right.char_boundary,
        right.start,
    )
    if not len(next_state):
        return None
    return Dfa(symbol_class, next_state, label, left.start, is_boundary)


@kernel
def _side_by_side(
    left_class: Classes,
    left: Ints,
    left_label: Ints,
    left_boundary: Bools,
    left_start: int,
    right_class: Classes,
    right: Ints,
    right_label: Ints,
    right_boundary: Bools,
    right_start: int,
) -> tuple[Classes, Ints, Ints, Bools]:
    """The fields of the `Dfa` of both, whose start is that of the left; see there.

    The states of the right come last, without its start. No states at all where they cannot be
    joined.
    """
    num_left, num_right = left.shape[0], right.shape[0]
    num_symbols = max(left_class.shape[0], right_class.shape[0])
    number = np.full((left.shape[1], right.shape[1]), -1, np.int32)
    number[0, 0] = 0
    columns = np.zeros((num_symbols + 1, 2), np.int32)  # of each class, those of both tables
    num_classes = 1
    symbol_class = np.zeros(num_symbols, np.uint16)
    for symbol in range(num_symbols):
        i = left_class[symbol] if symbol < left_class.shape[0] else 0
        j = right_class[symbol] if symbol < right_class.shape[0] else 0
        if number[i, j] < 0:
            number[i, j] = num_classes
            columns[num_classes, 0], columns[num_classes, 1] = i, j
            num_classes += 1
        symbol_class[symbol] = number[i, j]
    table = np.zeros((num_left + num_right - 2, num_classes), np.int32)
    label = np.zeros(table.shape[0], np.int32)
    is_boundary = np.zeros(table.shape[0], np.bool_)
    failure = symbol_class, np.zeros((0, 0), np.int32), label, is_boundary
    for state in range(num_left):
        label[state], is_boundary[state] = left_label[state], left_boundary[state]
    num_labels = left_label.max()
    renumber = np.zeros(num_right, np.int32)
    used = num_left
    for state in range(1, num_right):
        if state == right_start:
            renumber[state] = left_start
        else:
            renumber[state] = used
            label[used] = right_label[state] + num_labels if right_label[state] != 0 else 0
            is_boundary[used] = right_boundary[state]
            used += 1
    for state in range(1, num_left):
        for c in range(1, num_classes):
            target = left[state, columns[c, 0]]
            if target == left_start:
                return failure
            table[state, c] = target
    for state in range(1, num_right):
        for c in range(1, num_classes):
            target = right[state, columns[c, 1]]
            if target != 0:
                if target == right_start or table[renumber[state], c] != 0:
                    return failure
                table[renumber[state], c] = renumber[target]
    return symbol_class, table, label, is_boundary
