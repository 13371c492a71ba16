"""Minimisation of a deterministic table with missing transitions.

A. Valmari and P. Lehtinen, "Efficient minimization of DFAs with partial transition functions"
(STACS 2008), in the form of A. Valmari, "Fast brief practical DFA minimization" (IPL 112, 2012):
blocks of states and blocks of transitions refine each other, O(m log n) for m transitions that do
not lead to DEAD.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.kernels import grouped, helper, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Ints

FIRST_ACCEPTING_KIND: Final = 2
"""Two kinds of states that do not accept: inside, and at the boundary of a counted character."""


@dataclass(frozen=True, slots=True)
class MinimalTable:
    """The minimal table; states are numbered in breadth-first order from the start.

    Args:
        next_state: int32, (num_states, num_symbols); row DEAD is all DEAD.
        start: DEAD for the empty language, else 1.
        old_state: int32, (num_states,); for each new state one of the old states that it stands
            for.
    """

    next_state: NDArray[np.int32]
    start: int
    old_state: NDArray[np.int32]


def minimise_table(
    next_state: NDArray[np.int32], start: int, kind: NDArray[np.int32]
) -> MinimalTable:
    """The unique smallest trimmed table whose states read the same texts into the same kinds.

    Args:
        next_state: int32, (num_states, num_symbols), C-contiguous; row DEAD is all DEAD. It need
            not be trimmed.
        start: the initial state.
        kind: int32, (num_states,), small and >= 0; states of different kinds are never merged.
            Kinds below FIRST_ACCEPTING_KIND do not accept.
    """
    return MinimalTable(*_minimise(next_state, start, kind))


@helper
def _blocks(keys: Ints, size: int, num_keys: int) -> tuple[Ints, Ints, Ints, Ints, Ints, int]:
    """The elements 0 .. size - 1 in blocks of equal keys; keys that nobody has make no block.

    Returns:
        The elements in the order of their blocks; the place of each element therein, and its block;
        for each block, with room for as many as there are elements, the place of its first element
        and the one past its last; how many blocks there are.
    """
    group_first, elements = grouped(keys, size, num_keys)
    location = np.empty(size, np.int32)
    block = np.empty(size, np.int32)
    first = np.empty(size + 1, np.int32)
    past = np.empty(size + 1, np.int32)
    num_blocks = 0
    for k in range(num_keys):
        if group_first[k] == group_first[k + 1]:
            continue
        first[num_blocks] = group_first[k]
        past[num_blocks] = group_first[k + 1]
        for i in range(group_first[k], group_first[k + 1]):
            block[elements[i]] = num_blocks
            location[elements[i]] = i
        num_blocks += 1
    return elements, location, block, first, past, num_blocks


@helper
def _mark(
    e: int,
    elements: Ints,
    location: Ints,
    block: Ints,
    first: Ints,
    marked: Ints,
    touched: Ints,
    num_touched: int,
) -> int:
    """Move element `e` into the marked front of its block; the new number of touched blocks."""
    s = block[e]
    i = location[e]
    j = first[s] + marked[s]
    elements[i] = elements[j]
    location[elements[i]] = i
    elements[j] = e
    location[e] = j
    if marked[s] == 0:
        touched[num_touched] = s
        num_touched += 1
    marked[s] += 1
    return num_touched


@helper
def _split(
    elements: Ints,
    block: Ints,
    first: Ints,
    past: Ints,
    marked: Ints,
    touched: Ints,
    num_touched: int,
    num_blocks: int,
) -> int:
    """Split every touched block into its marked and unmarked part; the new number of blocks."""
    while num_touched > 0:
        num_touched -= 1
        s = touched[num_touched]
        j = first[s] + marked[s]
        if j == past[s]:
            marked[s] = 0
            continue
        if marked[s] <= past[s] - j:  # the smaller part becomes the new block
            first[num_blocks] = first[s]
            past[num_blocks] = j
            first[s] = j
        else:
            past[num_blocks] = past[s]
            first[num_blocks] = j
            past[s] = j
        for i in range(first[num_blocks], past[num_blocks]):
            block[elements[i]] = num_blocks
        marked[s] = 0
        marked[num_blocks] = 0
        num_blocks += 1
    return num_blocks


@kernel
def _minimise(next_state: Ints, start: int, kind: Ints) -> tuple[Ints, int, Ints]:
    num_all, num_symbols = next_state.shape

    # Reachable from the start, in breadth-first order.
    order = np.empty(num_all, np.int32)
    is_reached = np.zeros(num_all, np.bool_)
    is_reached[0] = True
    num_reached = 0
    if not is_reached[start]:
        is_reached[start] = True
        order[0] = start
        num_reached = 1
    num_edges = 0
    at = 0
    while at < num_reached:
        for a in range(num_symbols):
            t = next_state[order[at], a]
            if t != 0:
                num_edges += 1
                if not is_reached[t]:
                    is_reached[t] = True
                    order[num_reached] = t
                    num_reached += 1
        at += 1

    # The edges between reached states, and those into each state.
    tail = np.empty(num_edges, np.int32)
    symbol = np.empty(num_edges, np.int32)
    head = np.empty(num_edges, np.int32)
    count = 0
    for at in range(num_reached):
        s = order[at]
        for a in range(num_symbols):
            t = next_state[s, a]
            if t != 0:
                tail[count] = s
                symbol[count] = a
                head[count] = t
                count += 1
    into_first, into = grouped(head, num_edges, num_all)

    # Those that reach an accepting state.
    is_live = np.zeros(num_all, np.bool_)
    stack = np.empty(num_all, np.int32)
    depth = 0
    for at in range(num_reached):
        if kind[order[at]] >= FIRST_ACCEPTING_KIND:
            is_live[order[at]] = True
            stack[depth] = order[at]
            depth += 1
    while depth > 0:
        depth -= 1
        s = stack[depth]
        for i in range(into_first[s], into_first[s + 1]):
            t = tail[into[i]]
            if not is_live[t]:
                is_live[t] = True
                stack[depth] = t
                depth += 1

    # Live states get numbers 0 .. n - 1 and live edges 0 .. m - 1.
    number = np.zeros(num_all, np.int32)
    kind_of = np.empty(num_reached, np.int32)
    n = 0
    num_kinds = 0
    for at in range(num_reached):
        s = order[at]
        if is_live[s]:
            number[s] = n
            kind_of[n] = kind[s]
            n += 1
            num_kinds = max(num_kinds, kind[s] + 1)
    m = 0
    for e in range(num_edges):
        if is_live[tail[e]] and is_live[head[e]]:
            tail[m] = number[tail[e]]
            head[m] = number[head[e]]
            symbol[m] = symbol[e]
            m += 1
    into_first, into = grouped(head, m, n)

    # Blocks of states are at first those of a kind, blocks of transitions those of a symbol.
    b_elements, b_location, b_block, b_first, b_past, num_blocks = _blocks(kind_of, n, num_kinds)
    c_elements, c_location, c_block, c_first, c_past, num_cords = _blocks(symbol, m, num_symbols)
    marked = np.zeros(max(n, m) + 1, np.int32)
    touched = np.empty(max(n, m) + 1, np.int32)

    # Refine each by the other. One block of states need not be a splitter.
    b = 1
    c = 0
    while c < num_cords:
        num_touched = int(np.int64(0))
        for i in range(c_first[c], c_past[c]):
            num_touched = _mark(
                tail[c_elements[i]],
                b_elements,
                b_location,
                b_block,
                b_first,
                marked,
                touched,
                num_touched,
            )
        num_blocks = _split(
            b_elements, b_block, b_first, b_past, marked, touched, num_touched, num_blocks
        )
        c += 1
        while b < num_blocks:
            num_touched = int(np.int64(0))
            for i in range(b_first[b], b_past[b]):
                s = b_elements[i]
                for k in range(into_first[s], into_first[s + 1]):
                    num_touched = _mark(
                        into[k],
                        c_elements,
                        c_location,
                        c_block,
                        c_first,
                        marked,
                        touched,
                        num_touched,
                    )
            num_cords = _split(
                c_elements, c_block, c_first, c_past, marked, touched, num_touched, num_cords
            )
            b += 1

    # The table over blocks, numbered breadth-first.
    table = np.zeros((num_blocks + 1, num_symbols), np.int32)
    old_state = np.zeros(num_blocks + 1, np.int32)
    if not is_live[start]:
        return table, 0, old_state
    new_number = np.zeros(num_blocks, np.int32)
    new_number[b_block[number[start]]] = 1
    old_state[1] = start
    num_new = 2
    at = 1
    while at < num_new:
        for a in range(num_symbols):
            t = next_state[old_state[at], a]
            if is_live[t]:
                b = b_block[number[t]]
                if new_number[b] == 0:
                    new_number[b] = num_new
                    old_state[num_new] = t
                    num_new += 1
                table[at, a] = new_number[b]
        at += 1
    return table, 1, old_state
