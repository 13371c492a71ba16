"""length_product: the texts of an automaton that have a length within bounds, minimal at once.

The pairs (state, characters read) form layers by the number of characters, so that equal ones are
found from the last layer to the first, as in the trie of a finite set (`trie`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.kernels import grown, grown_rows, hash_slots, helper, kernel
from grammars.automata.lengths import measure
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Bools, Ints

_MAX_PAIRS: Final = 128
"""Pairs that may be looked at for each state of the limit; most are cut off or equal to others."""


def length_product(
    next_state: NDArray[np.int32],
    accepting: NDArray[np.bool_],
    start: int,
    minimum: int,
    maximum: int | None,
    *,
    max_states: int,
    what: str,
) -> tuple[NDArray[np.int32], NDArray[np.bool_], int]:
    """The table of the texts of minimum .. maximum symbols (None: no bound).

    Args:
        next_state: int32, (num_states, num_symbols), minimal and trimmed; row DEAD is all DEAD.
        accepting: bool, (num_states,).
        start: the initial state, not DEAD.
        minimum: symbols at least.
        maximum: symbols at most.
        max_states: states of the result at most.
        what: what is being built, for the error.

    Returns:
        The minimal next_state, accepting and start; DEAD for the empty language.

    Raises:
        LimitExceededError: more than `max_states` states.
    """
    last = minimum if maximum is None else maximum
    num_pairs = next_state.shape[0] * (last + 1)
    if num_pairs > _MAX_PAIRS * max_states:
        raise LimitExceededError("max_states", max_states, what)
    if maximum is not None and minimum > maximum:
        return np.zeros((1, next_state.shape[1]), np.int32), np.zeros(1, np.bool_), 0
    rest, longest = measure(next_state, accepting)
    table, is_accepting, first = _layers(
        next_state, accepting, start, rest, longest, minimum, last, maximum is None, max_states
    )
    if first < 0:
        raise LimitExceededError("max_states", max_states, what)
    return table, is_accepting, first


@kernel
def _layers(
    next_state: Ints,
    accepting: Bools,
    start: int,
    rest: Ints,
    longest: Ints,
    minimum: int,
    last: int,
    is_endless: bool,
    max_states: int,
) -> tuple[Ints, Bools, int]:
    num_states, num_symbols = next_state.shape
    # Pair (q, c) is q * (last + 1) + c. If no bound matters from there on it is the state q itself;
    # the others get numbers from num_states on.
    width = last + 1
    number = np.full(num_states * width, -1, np.int32)  # -1: not reached, -2: has no number yet
    number[start * width] = -2
    for c in range(width):
        for q in range(1, num_states):
            if number[q * width + c] != -2:
                continue
            fits = is_endless or (longest[q] >= 0 and c + longest[q] <= last)
            if (not is_endless and c + rest[q] > last) or (
                longest[q] >= 0 and c + longest[q] < minimum
            ):
                number[q * width + c] = 0
            elif fits and c >= minimum:
                number[q * width + c] = q
            elif c < last:
                for a in range(1, num_symbols):
                    target = next_state[q, a]
                    if target != 0 and number[target * width + c + 1] == -1:
                        number[target * width + c + 1] = -2

    # States and pairs with equal rows are one; the states come first.
    capacity = 2 * num_states + 64
    table = np.zeros((capacity, num_symbols), np.int32)
    accepts = np.zeros(capacity, np.bool_)
    hashes = np.zeros(capacity, np.int32)
    slots = hash_slots(hashes, capacity, capacity, capacity)
    num_used = 1
    for layer in range(width, -1, -1):  # the states, then the pairs of each layer from the last on
        for q in range(1, num_states):
            if layer < width and number[q * width + layer] != -2:
                continue
            is_alive = accepting[q] and layer >= minimum
            code = np.int64(is_alive)
            for a in range(1, num_symbols):
                target = next_state[q, a]
                if layer < width and target != 0:
                    target = number[target * width + layer + 1] if layer < last else 0
                table[num_used, a] = target
                is_alive = is_alive or target != 0
                code = (code ^ target) * np.int64(0x9E3779B97F4A7C1)
                code ^= code >> 29
            code &= 0x7FFFFFFF
            accepts[num_used] = accepting[q] and layer >= minimum
            found = 0
            slot = code & (slots.shape[0] - 1)
            if is_alive:
                found = slots[slot]
                while found != 0 and not (
                    hashes[found] == code and _is_same(table, accepts, found, num_used)
                ):
                    slot = (slot + 1) & (slots.shape[0] - 1)
                    found = slots[slot]
                if found == 0:
                    found = num_used
                    hashes[found] = code
                    slots[slot] = found
                    num_used += 1
            if layer < width:
                number[q * width + layer] = found
            if num_used - num_states > max_states:
                return table, accepts, -1
            if num_used == capacity:
                capacity *= 2
                table = grown_rows(table, capacity)
                accepts = grown(accepts, capacity)
                hashes = grown(hashes, capacity)
                slots = hash_slots(hashes, 1, num_used, capacity)

    # Those that are reached from the start, numbered breadth-first.
    new_number = np.zeros(num_used, np.int32)
    order = np.zeros(num_used + 1, np.int32)
    first = number[start * width]
    num_kept = 1
    if first != 0:
        order[1] = first
        new_number[first] = 1
        num_kept = 2
    at = 1
    while at < num_kept:
        for a in range(1, num_symbols):
            target = table[order[at], a]
            if target != 0 and new_number[target] == 0:
                new_number[target] = num_kept
                order[num_kept] = target
                num_kept += 1
        at += 1
    result = np.zeros((num_kept, num_symbols), np.int32)
    is_accepting = np.zeros(num_kept, np.bool_)
    for at in range(1, num_kept):
        is_accepting[at] = accepts[order[at]]
        for a in range(1, num_symbols):
            result[at, a] = new_number[table[order[at], a]]
    return result, is_accepting, min(first, 1)


@helper
def _is_same(table: Ints, accepts: Bools, one: int, other: int) -> bool:
    if accepts[one] != accepts[other]:
        return False
    for a in range(table.shape[1]):  # noqa: SIM110 - numba has no all()
        if table[one, a] != table[other, a]:
            return False
    return True
