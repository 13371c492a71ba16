"""combine: the boolean combination of two automata, whatever their symbols are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.minimise import minimise_table
from grammars.automata.product import Operation, common_symbols, product

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Operand:
    """An automaton over items: bytes, or ranges of code points.

    Args:
        next_state: int32, (num_states, num_classes); row DEAD is all DEAD.
        start: the initial state.
        item_class: int32, (num_items,); the class of each item; the items of both operands are the
            same.
        accepting: bool, (num_states,).
        boundary: bool, (num_states,); another mark that a state can bear.
    """

    next_state: NDArray[np.int32]
    start: int
    item_class: NDArray[np.int32]
    accepting: NDArray[np.bool_]
    boundary: NDArray[np.bool_]


def combine(
    operation: Operation, left: Operand, right: Operand, *, max_states: int, what: str
) -> Operand:
    """The minimal automaton of what the operation accepts.

    A state is a boundary where both sides are (intersection), either is (union), or the left one
    is (difference). Classes that no state tells apart may be left.

    Raises:
        LimitExceededError: `what` needs more than `max_states` pairs of states.
    """
    columns, item_class = common_symbols(left.item_class, right.item_class)
    pairs = product(
        operation,
        (left.next_state, left.start),
        (right.next_state, right.start),
        columns,
        max_states=max_states,
        what=what,
    )
    accepting = pairs.accepting(operation, left.accepting, right.accepting)
    boundary = left.boundary[pairs.left]
    match operation:
        case Operation.INTERSECT:
            boundary &= right.boundary[pairs.right]
        case Operation.UNION:
            boundary |= right.boundary[pairs.right]
        case Operation.DIFFERENCE:
            pass
    kind = (2 * accepting + boundary).astype(np.int32)
    minimal = minimise_table(pairs.next_state, pairs.start, kind)
    return Operand(
        minimal.next_state,
        minimal.start,
        item_class,
        accepting[minimal.old_state],
        boundary[minimal.old_state],
    )
