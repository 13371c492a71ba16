"""The automaton of a finite, sorted set of strings: their trie, or what is minimal of it.

Small sets are made minimal by hash-consing their trie bottom-up, after D. Revuz, "Minimisation of
acyclic deterministic automata in linear time" (TCS 92, 1992).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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


_ROOT: Final = 1


def common_beginnings(symbols: NDArray[np.int32], length: NDArray[np.int32]) -> NDArray[np.int32]:
    """int32, (num_strings,): how many symbols each string has in common with the one before it."""
    first = np.cumsum(length) - length
    common = np.zeros(len(length), np.int32)
    alike = np.arange(1, len(length))
    for number in range(int(length.max(initial=0))):
        alike = alike[(length[alike] > number) & (length[alike - 1] > number)]
        alike = alike[symbols[first[alike] + number] == symbols[first[alike - 1] + number]]
        if not len(alike):
            break
        common[alike] = number + 1
    return common


def plain_trie(
    symbols: NDArray[np.int32],
    length: NDArray[np.int32],
    common: NDArray[np.int32],
    num_symbols: int,
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The trie of a sorted set of strings as a table: quickly made, but not minimal.

    Args:
        symbols: as in `minimal_trie`.
        length: likewise; a string may come twice.
        common: of them, see `common_beginnings`.
        num_symbols: columns of the table.

    Returns:
        As `minimal_trie` does, but the start is state 1.
    """
    num_new = length - common  # nodes that each string adds, one after the other
    past = np.cumsum(num_new) + _ROOT + 1
    new = past - num_new  # the first of them
    table = np.zeros((int(past[-1]), num_symbols), np.int32)
    node = np.arange(_ROOT + 1, len(table))
    parent = node - 1
    for depth in np.unique(common[num_new > 0]).tolist():
        adds = np.flatnonzero((common == depth) & (num_new > 0))
        parent[new[adds] - _ROOT - 1] = _ROOT
        if depth > 0:  # the node is of the last string before that added one at this depth
            owner = np.flatnonzero((common < depth) & (length >= depth))
            owner = owner[np.searchsorted(owner, adds) - 1]
            parent[new[adds] - _ROOT - 1] = new[owner] + depth - 1 - common[owner]
    first = np.cumsum(length) - length + common  # the symbol of the first node that is added
    table[parent, symbols[np.repeat(first - new, num_new) + node]] = node
    accepting = np.zeros(len(table), np.bool_)
    accepting[past[num_new > 0] - 1] = True
    accepting[_ROOT] = bool((length == 0).any())
    return table, accepting


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
