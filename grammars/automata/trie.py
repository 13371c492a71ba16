"""Trie: a finite set of strings as a tree, and the minimal automaton of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.edges import Edges
from grammars.automata.kernels import grouped, helper, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Bools, Ints

ROOT: Final = 1


@dataclass(frozen=True, slots=True)
class Trie:
    """A node for each beginning of a string: an automaton, of which node 0 is DEAD.

    Args:
        edges: from node to node; children have greater numbers than their parents. Symbols are the
            numbers of characters in `alphabet`, from 1.
        is_final: bool, (num_nodes,); whether a string ends there.
        alphabet: int32, ascending; the code points that occur.
    """

    edges: Edges
    is_final: NDArray[np.bool_]
    alphabet: NDArray[np.int32]

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, node 0 included."""
        return len(self.is_final)

    @property
    def num_symbols(self) -> int:
        """Symbols are 1 .. num_symbols - 1."""
        return len(self.alphabet) + 1

    def minimal_states(self) -> tuple[NDArray[np.int32], int]:
        """The state of each node in the minimal automaton, and how many states that has.

        Nodes with equal subtrees are made one, from the leaves on, after D. Revuz, "Minimisation of
        acyclic deterministic automata in linear time" (TCS 92, 1992).

        Returns:
            int32, (num_nodes,), that of the root the greatest; states are numbered from 1.
        """
        return _minimal_states(*self.edges, self.is_final)


def trie_of(characters: NDArray[np.int32], length: NDArray[np.int32]) -> Trie:
    """The trie of a list of strings, in any order; one may come twice.

    Time is linear in the number of characters (and the logarithm of how many distinct ones).

    Args:
        characters: int32; the code points of all strings, one string after the other.
        length: int32, (num_strings,); characters of each, the sum less than 2**31.
    """
    end = np.cumsum(length, dtype=np.int32)
    first, symbol, target, is_final, alphabet = _trie(characters, end - length, end)
    return Trie(Edges(first, symbol, target), is_final, alphabet)


@helper
def _push(groups: Ints, num_groups: int, first: int, past: int, depth: int) -> int:
    """Note a group if it has more than one string; how many there are."""
    if past - first > 1:
        groups[num_groups, 0] = first
        groups[num_groups, 1] = past
        groups[num_groups, 2] = depth
        num_groups += 1
    return num_groups


@helper
def _sorted_strings(characters: Ints, begin: Ints, end: Ints) -> Ints:
    """The numbers of the strings characters[begin[i]:end[i]] in ascending order: a radix exchange.

    A group of strings that begin alike is parted at the middle of the range of their next
    characters, until these are the same; so no order of the strings is worse than others.
    P. Hildebrandt and H. Isbitz, "Radix exchange" (JACM 6, 1959).
    """
    num_strings = len(begin)
    order = np.empty(num_strings, np.int32)
    for i in range(num_strings):
        order[i] = i
    following = np.empty(num_strings, np.int32)  # the next characters of a group, past the end -1
    groups = np.empty((num_strings // 2 + 2, 3), np.int32)  # first, past, characters in common
    num_groups = _push(groups, int(np.int64(0)), 0, num_strings, 0)
    while num_groups > 0:
        num_groups -= 1
        first, past = groups[num_groups, 0], groups[num_groups, 1]
        depth = groups[num_groups, 2]
        least, greatest = np.int32(2**31 - 1), np.int32(-1)
        for k in range(first, past):
            at = begin[order[k]] + depth
            character = characters[at] if at < end[order[k]] else np.int32(-1)
            following[k] = character
            least, greatest = min(least, character), max(greatest, character)
        if least == greatest:
            if greatest >= 0:
                num_groups = _push(groups, num_groups, first, past, depth + 1)
            continue
        middle = (least + greatest + 1) // 2
        low, high = first, past - 1
        while low <= high:
            if following[low] < middle:
                low += 1
            elif following[high] >= middle:
                high -= 1
            else:
                following[low], following[high] = following[high], following[low]
                order[low], order[high] = order[high], order[low]
        num_groups = _push(groups, num_groups, first, low, depth)
        num_groups = _push(groups, num_groups, low, past, depth)
    return order


@kernel
def _trie(characters: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Bools, Ints]:
    capacity = len(characters) + 2
    parent = np.zeros(capacity, np.int32)
    character = np.zeros(capacity, np.int32)  # that leads to a node
    is_final = np.zeros(capacity, np.bool_)
    longest = 0
    for i in range(len(begin)):
        longest = max(longest, end[i] - begin[i])
    path = np.empty(longest + 1, np.int32)  # the nodes of the string before, by depth
    path[0] = 1
    num_nodes = 2
    before, before_end = 0, 0
    for i in _sorted_strings(characters, begin, end):
        at = begin[i]
        while at < end[i] and before < before_end and characters[at] == characters[before]:
            at += 1
            before += 1
        for k in range(at, end[i]):
            parent[num_nodes] = path[k - begin[i]]
            character[num_nodes] = characters[k]
            path[k - begin[i] + 1] = num_nodes
            num_nodes += 1
        is_final[path[end[i] - begin[i]]] = True
        before, before_end = begin[i], end[i]

    greatest = np.int32(0)
    for node in range(2, num_nodes):
        greatest = max(greatest, character[node])
    number = np.zeros(greatest + 1, np.int32)
    for node in range(2, num_nodes):
        number[character[node]] = 1
    alphabet = np.empty(num_nodes, np.int32)
    num_characters = 0
    for point in range(greatest + 1):
        if number[point] != 0:
            alphabet[num_characters] = point
            num_characters += 1
            number[point] = num_characters

    num_edges = num_nodes - 2
    first, target = grouped(parent[2:], num_edges, num_nodes)
    symbol = np.empty(num_edges, np.int32)
    for e in range(num_edges):
        target[e] += 2
        symbol[e] = number[character[target[e]]]
    return first, symbol, target, is_final[:num_nodes].copy(), alphabet[:num_characters].copy()


@kernel
def _minimal_states(first: Ints, symbol: Ints, target: Ints, is_final: Bools) -> tuple[Ints, int]:
    num_nodes = len(is_final)
    state = np.zeros(num_nodes, np.int32)
    node_of_state = np.zeros(num_nodes + 1, np.int32)
    num_slots = 4
    while num_slots < 2 * num_nodes:
        num_slots *= 2
    slots = np.zeros(num_slots, np.int32)  # open addressing: states by hash, 0 is free
    num_states = 1
    for node in range(num_nodes - 1, 0, -1):
        code = np.int64(is_final[node])
        for e in range(first[node], first[node + 1]):
            code = (code ^ symbol[e]) * np.int64(0x9E3779B97F4A7C1)
            code = (code ^ (code >> 29) ^ state[target[e]]) * np.int64(0x9E3779B97F4A7C1)
        slot = (code ^ (code >> 31)) & (num_slots - 1)
        while slots[slot] != 0:
            other = node_of_state[slots[slot]]
            size = first[node + 1] - first[node]
            if is_final[other] == is_final[node] and first[other + 1] - first[other] == size:
                a, b = first[node], first[other]
                while (
                    a < first[node + 1]
                    and symbol[a] == symbol[b]
                    and state[target[a]] == state[target[b]]
                ):
                    a += 1
                    b += 1
                if a == first[node + 1]:
                    break
            slot = (slot + 1) & (num_slots - 1)
        if slots[slot] == 0:
            slots[slot] = num_states
            node_of_state[num_states] = node
            num_states += 1
        state[node] = slots[slot]
    return state, num_states
