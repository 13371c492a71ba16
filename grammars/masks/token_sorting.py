"""sort_tokens: which tokens fire no label of a lexer, and what the others fire; sort_strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.kernels import kernel, open_states
from grammars.masks.trie import DEPTH_SHIFT, FIRST_TOKEN, PLACE, SUBTREE_END, SYMBOL_MASK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Bools, Ints


@kernel
def sort_tokens(
    nodes: Ints,
    token_ids: Ints,
    longest: int,
    groups: NDArray[np.int64],
    heights: Ints,
    depths: Ints,
    lengths: Ints,
    symbol_class: NDArray[np.uint16],
    next_state: Ints,
    label: Ints,
    is_boundary: Bools,
    owed: Ints,
    start: int,
    safe_groups: int,
    runs: Ints,
    max_leaving: int,
) -> tuple[Ints, NDArray[np.uint16], Ints]:
    """Read every token of a trie with a Dfa until a label fires.

    Args:
        nodes: see `Trie`.
        token_ids: see `Trie`.
        longest: the depth of the trie.
        groups: see `Subtrees`.
        heights: see `Subtrees`.
        depths: see `Subtrees`.
        lengths: see `Subtrees`.
        symbol_class: see `Dfa`, as the next three.
        next_state: see there.
        label: see there.
        is_boundary: see there, `char_boundary`.
        owed: int32, (num_states,), see `characters_owed`.
        start: the state to begin in.
        safe_groups: see `SafeRuns`: subtrees of these characters alone are not walked; 0 for none,
            which is the plain reference.
        runs: see `SafeRuns`.
        max_leaving: the walk ends with so many tokens that fire a label.

    Returns:
        The tokens that fire none, int32, (n,), and uint16, (n,), the characters that each counts
        and then owes.
        Those that fire one: int32, (m, 5), token id, characters counted before, label, whether it
        ends a counted string, symbols read before; `max_leaving` rows if there are so many or more.
    """
    is_open = open_states(next_state, label)
    inner_ids = np.empty(len(token_ids), np.int32)
    inner_counts = np.empty(len(token_ids), np.uint16)
    leaving = np.empty((max_leaving, 5), np.int32)
    num_inner = 0
    num_leaving = 0
    lexer_at = np.empty(longest + 1, np.int32)
    counted_at = np.zeros(longest + 1, np.int32)
    lexer_at[0] = start
    node = 1
    while node < len(nodes) - 1:
        level = nodes[node, PLACE] >> DEPTH_SHIFT
        lexer = lexer_at[level - 1]
        counted = counted_at[level - 1]
        if groups[node] & ~safe_groups == 0 and heights[node] <= runs[lexer]:
            after = nodes[node, SUBTREE_END]
            counted += owed[lexer]
            for i in range(nodes[node, FIRST_TOKEN], nodes[after, FIRST_TOKEN]):
                inner_ids[num_inner] = token_ids[i]
                inner_counts[num_inner] = counted
                if is_boundary[lexer]:
                    inner_counts[num_inner] += lengths[i] - (depths[node] - 1)
                num_inner += 1
            node = after
            continue
        symbol = nodes[node, PLACE] & SYMBOL_MASK
        following = 0
        if symbol < len(symbol_class):
            following = next_state[lexer, symbol_class[symbol]]
        if is_open[following]:
            lexer_at[level] = following
            counted_at[level] = counted + is_boundary[lexer]
            for i in range(nodes[node, FIRST_TOKEN], nodes[node + 1, FIRST_TOKEN]):
                inner_ids[num_inner] = token_ids[i]
                inner_counts[num_inner] = counted_at[level] + owed[following]
                num_inner += 1
            node += 1
            continue
        fired = label[following] if following != 0 else label[lexer]
        if fired != 0:
            for i in range(nodes[node, FIRST_TOKEN], nodes[nodes[node, SUBTREE_END], FIRST_TOKEN]):
                if num_leaving == max_leaving:
                    return inner_ids[:num_inner], inner_counts[:num_inner], leaving
                leaving[num_leaving, 0] = token_ids[i]
                leaving[num_leaving, 1] = counted
                leaving[num_leaving, 2] = fired
                leaving[num_leaving, 3] = following != 0 and is_boundary[lexer]
                leaving[num_leaving, 4] = level if following != 0 else level - 1
                num_leaving += 1
        node = nodes[node, SUBTREE_END]
    return inner_ids[:num_inner], inner_counts[:num_inner], leaving[:num_leaving]


@kernel
def sort_strings(symbols: NDArray[np.uint16], begin: Ints, end: Ints) -> Ints:
    """The numbers of strings, those of `build_trie`, in ascending order: a merge sort.

    Args:
        symbols: uint16, flat; holds all strings.
        begin: int32, (num_strings,); string i is `symbols[begin[i] : end[i]]`.
        end: int32, (num_strings,).

    Returns:
        int32, (num_strings,).
    """
    size = len(begin)
    order = np.empty(size, np.int32)
    for i in range(size):
        order[i] = i
    merged = np.empty(size, np.int32)
    width = 1
    while width < size:
        for low in range(0, size, 2 * width):
            left, right = low, min(low + width, size)
            middle, high = right, min(low + 2 * width, size)
            for k in range(low, high):
                takes_left = right == high
                if not takes_left and left < middle:
                    a, b = begin[order[left]], begin[order[right]]
                    a_end, b_end = end[order[left]], end[order[right]]
                    while a < a_end and b < b_end and symbols[a] == symbols[b]:
                        a += 1
                        b += 1
                    takes_left = a == a_end or (b < b_end and symbols[a] < symbols[b])
                if takes_left:
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order
