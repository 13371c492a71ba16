"""Subtrees: what is read below each node of a trie, so that a whole subtree can be judged at once.

Tokens are read as characters of UTF-8 here, which are told apart by groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.character_groups import FIRST_LEAD_GROUP, GROUP_OF_BYTE, LEADS
from grammars.automata.kernels import kernel
from grammars.masks.trie import DEPTH_SHIFT, FIRST_TOKEN, PLACE, SUBTREE_END, SYMBOL_MASK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Ints
    from grammars.masks.trie import Trie

_MIDDLE: Final = np.int64(1 << 62)


class Subtrees(NamedTuple):
    """What is read on the ways from a node's parent to the ends of its subtree.

    Attributes:
        groups: int64, (num_nodes,); bit g is set if a character of group g is begun. Bit 0 is set
            where a symbol is no part of a character, bit 62 where the node does not begin one.
        heights: int32, (num_nodes,); characters that are begun on the way with most of them.
        depths: int32, (num_nodes,); those begun on the way from the root to the node.
        lengths: int32, (num_tokens,); those of each token, in the order of `Trie.token_ids`.
    """

    groups: NDArray[np.int64]
    heights: Ints
    depths: Ints
    lengths: Ints


def build_subtrees(trie: Trie) -> Subtrees:
    """The subtrees of a trie."""
    return Subtrees(*_summarise(trie.nodes, GROUP_OF_BYTE, LEADS))


@kernel
def _summarise(
    nodes: Ints, group_of_byte: NDArray[np.uint8], leads: Ints
) -> tuple[NDArray[np.int64], Ints, Ints, Ints]:
    num_nodes = len(nodes) - 1
    groups = np.zeros(num_nodes, np.int64)
    heights = np.zeros(num_nodes, np.int32)
    depths = np.zeros(num_nodes, np.int32)
    lengths = np.zeros(nodes[num_nodes, FIRST_TOKEN], np.int32)
    num_levels = 1
    for node in range(num_nodes):
        num_levels = max(num_levels, (nodes[node, PLACE] >> DEPTH_SHIFT) + 1)
    missing_at = np.zeros(num_levels, np.int32)  # bytes until the character ends
    low_at = np.zeros(num_levels, np.int32)  # from and to, of the next one
    high_at = np.zeros(num_levels, np.int32)
    depth_at = np.zeros(num_levels, np.int32)
    for node in range(1, num_nodes):
        symbol = nodes[node, PLACE] & SYMBOL_MASK
        level = nodes[node, PLACE] >> DEPTH_SHIFT
        missing = missing_at[level - 1]
        follows = missing > 0 and low_at[level - 1] <= symbol <= high_at[level - 1]
        if follows:
            groups[node] = _MIDDLE
            missing_at[level] = missing - 1
            low_at[level], high_at[level] = 0x80, 0xBF
        else:
            group = np.int64(0)
            if missing == 0 and symbol < len(group_of_byte):
                group = np.int64(group_of_byte[symbol])
            groups[node] = np.int64(1) << group
            missing_at[level] = 0
            row = group - FIRST_LEAD_GROUP
            if 0 <= row < len(leads):
                low_at[level], high_at[level] = leads[row, 2], leads[row, 3]
                missing_at[level] = leads[row, 4]
        depth_at[level] = depth_at[level - 1] + (not follows)
        depths[node] = depth_at[level]
        for i in range(nodes[node, FIRST_TOKEN], nodes[node + 1, FIRST_TOKEN]):
            lengths[i] = depth_at[level]
    for node in range(num_nodes - 1, 0, -1):
        child = node + 1
        while child < nodes[node, SUBTREE_END]:
            groups[node] |= groups[child] & ~_MIDDLE
            heights[node] = max(heights[node], heights[child])
            child = nodes[child, SUBTREE_END]
        if groups[node] & _MIDDLE == 0:
            heights[node] += 1
    return groups, heights, depths, lengths
