"""The minimal automaton of a finite, sorted set of strings, by hash-consing their trie bottom-up.

After D. Revuz, "Minimisation of acyclic deterministic automata in linear time" (TCS 92, 1992).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.kernels import kernel
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Bools, Ints


def minimal_trie(
    symbols: NDArray[np.int32], length: NDArray[np.int32], num_symbols: int, *, max_states: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The minimal table of a sorted set of distinct strings, at least one.

    Args:
        symbols: int32; the symbols (>= 1) of all strings, one string after the other.
        length: int32, (num_strings,); symbols in each string.
        num_symbols: columns of the table.
        max_states: states of the result at most.

    Returns:
        next_state int32, (num_states, num_symbols), and accepting bool, (num_states,); the start
        is the last state.

    Raises:
        LimitExceededError: more than `max_states` states.
    """
    canonical, first_child, sibling, symbol, is_final, num_states = _consed_trie(symbols, length)
    if num_states > max_states:
        raise LimitExceededError("max_states", max_states, f"a set of {length.shape[0]} strings")
    return _table(canonical, first_child, sibling, symbol, is_final, num_states, num_symbols)


@kernel
def _consed_trie(symbols: Ints, length: Ints) -> tuple[Ints, Ints, Ints, Ints, Bools, int]:
    """The trie, its root node 0, and for each node the number of its class of equal subtrees."""
    capacity = symbols.shape[0] + 1
    first_child = np.zeros(
        capacity, np.int32
    )  # the child made last, so the greatest symbol; 0: none
    sibling = np.zeros(capacity, np.int32)
    symbol = np.zeros(capacity, np.int32)
    is_final = np.zeros(capacity, np.bool_)
    num_nodes = 1
    at = 0
    for size in length:
        node = 0
        for k in range(at, at + size):
            child = first_child[node]
            if child == 0 or symbol[child] != symbols[k]:  # sorted: only the last child can match
                sibling[num_nodes] = child
                symbol[num_nodes] = symbols[k]
                first_child[node] = num_nodes
                child = num_nodes
                num_nodes += 1
            node = child
        is_final[node] = True
        at += size

    canonical = np.zeros(num_nodes, np.int32)
    node_of_class = np.zeros(num_nodes + 1, np.int32)
    num_slots = 4
    while num_slots < 2 * num_nodes:
        num_slots *= 2
    slots = np.zeros(num_slots, np.int32)  # open addressing: classes by hash, 0 is free
    num_classes = 1
    for node in range(num_nodes - 1, -1, -1):  # children have greater numbers
        code = np.int64(is_final[node])
        child = first_child[node]
        while child != 0:
            code = (code ^ symbol[child]) * np.int64(0x9E3779B97F4A7C1)
            code = (code ^ (code >> 29) ^ canonical[child]) * np.int64(0x9E3779B97F4A7C1)
            child = sibling[child]
        slot = (code ^ (code >> 31)) & (num_slots - 1)
        while slots[slot] != 0:
            other = node_of_class[slots[slot]]
            a, b = first_child[node], first_child[other]
            while a != 0 and b != 0 and symbol[a] == symbol[b] and canonical[a] == canonical[b]:
                a, b = sibling[a], sibling[b]
            if a == 0 and b == 0 and is_final[node] == is_final[other]:
                break
            slot = (slot + 1) & (num_slots - 1)
        if slots[slot] == 0:
            slots[slot] = num_classes
            node_of_class[num_classes] = node
            num_classes += 1
        canonical[node] = slots[slot]
    return canonical, first_child, sibling, symbol, is_final, num_classes


@kernel
def _table(
    canonical: Ints,
    first_child: Ints,
    sibling: Ints,
    symbol: Ints,
    is_final: Bools,
    num_states: int,
    num_symbols: int,
) -> tuple[Ints, Bools]:
    table = np.zeros((num_states, num_symbols), np.int32)
    accepting = np.zeros(num_states, np.bool_)
    for node in range(canonical.shape[0]):
        state = canonical[node]
        accepting[state] = is_final[node]
        child = first_child[node]
        while child != 0:
            table[state, symbol[child]] = canonical[child]
            child = sibling[child]
    return table, accepting
