"""Product construction: two tables run side by side over a common refinement of their symbols."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.kernels import grown, grown_rows, helper, kernel
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Ints


class Operation(IntEnum):
    """Which texts the combination accepts."""

    INTERSECT = 0
    UNION = 1
    DIFFERENCE = 2


@dataclass(frozen=True, slots=True)
class PairTable:
    """The table of reachable pairs; it is not trimmed.

    Args:
        next_state: int32, (num_pairs, num_symbols); row DEAD is all DEAD.
        start: the pair of the two starts.
        left, right: int32, (num_pairs,); the states of each pair, DEAD where a side has died.
    """

    next_state: NDArray[np.int32]
    start: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]

    def accepting(
        self, operation: Operation, left: NDArray[np.bool_], right: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Which pairs accept, from which states of each side do."""
        in_left, in_right = left[self.left], right[self.right]
        match operation:
            case Operation.INTERSECT:
                return in_left & in_right
            case Operation.UNION:
                return in_left | in_right
            case Operation.DIFFERENCE:
                return in_left & ~in_right


def common_symbols(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """The coarsest partition that refines two: which columns each of its classes reads.

    Args:
        left: int32, (num_items,); the class of each item in the left partition.
        right: int32, (num_items,); its class in the right one.

    Returns:
        columns int32, (2, num_classes), ascending, and the class of each item, int32, (num_items,).
    """
    num_right = int(right.max()) + 1
    pair = left.astype(np.int64) * num_right + right
    is_used = np.zeros(int(pair.max()) + 1, np.bool_)
    is_used[pair] = True
    used = np.flatnonzero(is_used)
    columns = np.stack((used // num_right, used % num_right)).astype(np.int32)
    return columns, (np.cumsum(is_used, dtype=np.int32) - 1)[pair]


def product(
    operation: Operation,
    left: tuple[NDArray[np.int32], int],
    right: tuple[NDArray[np.int32], int],
    columns: NDArray[np.int32],
    *,
    max_states: int,
    what: str,
) -> PairTable:
    """Explore the pairs from which the operation can still accept something.

    Args:
        operation: decides which pairs are dead.
        left: (next_state, start) of the left operand.
        right: (next_state, start) of the right operand.
        columns: int32, (2, num_symbols); the column of each operand that each symbol of the result
            reads.
        max_states: pairs at most.
        what: what is being built, for the error.

    Raises:
        LimitExceededError: more than `max_states` pairs.
    """
    table, start, pair_left, pair_right, num_pairs = _product(
        int(operation), left[0], left[1], right[0], right[1], columns, max_states
    )
    if start < 0:
        raise LimitExceededError("max_states", max_states, what)
    return PairTable(
        table[:num_pairs].copy(),
        start,
        pair_left[:num_pairs].copy(),
        pair_right[:num_pairs].copy(),
    )


@kernel
def _product(
    operation: int,
    left: Ints,
    left_start: int,
    right: Ints,
    right_start: int,
    columns: Ints,
    max_states: int,
) -> tuple[Ints, int, Ints, Ints, int]:
    num_symbols = columns.shape[1]
    capacity = left.shape[0] + right.shape[0] + 2
    pair_left = np.zeros(capacity, np.int32)
    pair_right = np.zeros(capacity, np.int32)
    table = np.zeros((capacity, num_symbols), np.int32)
    slots = np.zeros(4, np.int32)  # open addressing: pair numbers by hash, 0 is free
    num_pairs = 1
    start = 0
    at = 0  # pair 0 stands for the seed of the start pair
    while at < num_pairs:
        for symbol in range(1 if at == 0 else num_symbols):
            if at == 0:
                a, b = left_start, right_start
            else:
                a = left[pair_left[at], columns[0, symbol]]
                b = right[pair_right[at], columns[1, symbol]]
            if operation == 0:
                is_dead = a == 0 or b == 0
            elif operation == 1:
                is_dead = a == 0 and b == 0
            else:
                is_dead = a == 0
            if is_dead:
                continue
            if num_pairs == capacity or 2 * num_pairs >= slots.shape[0]:
                if num_pairs == capacity:
                    capacity *= 2
                    pair_left = grown(pair_left, capacity)
                    pair_right = grown(pair_right, capacity)
                    table = grown_rows(table, capacity)
                slots = np.zeros(4 * slots.shape[0], np.int32)
                for k in range(1, num_pairs):
                    slot = _slot(pair_left[k], pair_right[k], slots.shape[0])
                    while slots[slot] != 0:
                        slot = (slot + 1) & (slots.shape[0] - 1)
                    slots[slot] = k
            slot = _slot(a, b, slots.shape[0])
            found = slots[slot]
            while found != 0 and (pair_left[found] != a or pair_right[found] != b):
                slot = (slot + 1) & (slots.shape[0] - 1)
                found = slots[slot]
            if found == 0:
                if num_pairs > max_states:
                    return table, -1, pair_left, pair_right, num_pairs
                found = num_pairs
                num_pairs += 1
                slots[slot] = found
                pair_left[found] = a
                pair_right[found] = b
            if at == 0:
                start = found
            else:
                table[at, symbol] = found
        at += 1
    return table, start, pair_left, pair_right, num_pairs


@helper
def _slot(a: int, b: int, num_slots: int) -> int:
    """Where the search for pair (a, b) begins; num_slots is a power of two."""
    code = (np.int64(a) * 1000003 + b) * np.int64(0x9E3779B97F4A7C1)
    return int((code ^ (code >> 31)) & (num_slots - 1))
