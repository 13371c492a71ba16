"""Subtrees: what is read below each node of a trie, so that a whole subtree can be judged at once.

Symbols are told apart by groups, few enough for the bits of a word: letters and digits are five,
punctuation marks are one each, the bytes of UTF-8 are grouped by what may follow them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.dfa import NUM_BYTES
from grammars.automata.kernels import kernel
from grammars.masks.trie import DEPTH_SHIFT, FIRST_TOKEN, PLACE, SUBTREE_END, SYMBOL_MASK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.trie import Trie

_GROUPS: Final[tuple[bytes | range, ...]] = (
    b"abcdef",
    b"ghijklmnopqrstuvwxyz",
    b"ABCDEF",
    b"GHIJKLMNOPQRSTUVWXYZ",
    b"0123456789",
    range(0x20),
    *(bytes([byte]) for byte in range(0x20, 0x80) if not chr(byte).isalnum()),
    *(range(0x80, 0x90), range(0x90, 0xA0), range(0xA0, 0xC0)),
    *(range(0xC0, 0xC2), range(0xC2, 0xE0)),
    *(range(0xE0, 0xE1), range(0xE1, 0xED), range(0xED, 0xEE), range(0xEE, 0xF0)),
    *(range(0xF0, 0xF1), range(0xF1, 0xF4), range(0xF4, 0xF5), range(0xF5, 0x100)),
)
"""Bytes that automata rarely tell apart."""


def _group_of_byte() -> NDArray[np.uint8]:
    group = np.zeros(NUM_BYTES, np.uint8)
    for number, symbols in enumerate(_GROUPS, 1):
        group[list(symbols)] = number
    assert group.all(), "each byte is in a group"
    assert len(_GROUPS) < 63, "groups are the bits of a positive int64"
    return group


GROUP_OF_BYTE: Final = _group_of_byte()
"""uint8, (256,); group 0 has all symbols that are no bytes."""


class Subtrees(NamedTuple):
    """What is read on the ways from a node's parent to the ends of its subtree.

    Attributes:
        groups: int64, (num_nodes,); bit g is set if a symbol of group g is read.
        heights: int32, (num_nodes,); symbols on the longest way.
        lengths: int32, (num_tokens,); symbols of each token, in the order of `Trie.token_ids`.
    """

    groups: NDArray[np.int64]
    heights: NDArray[np.int32]
    lengths: NDArray[np.int32]


def build_subtrees(trie: Trie) -> Subtrees:
    """The subtrees of a trie."""
    return Subtrees(*_summarise(trie.nodes, GROUP_OF_BYTE))


@kernel
def _summarise(
    nodes: NDArray[np.int32], group_of_byte: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    num_nodes = len(nodes) - 1
    groups = np.zeros(num_nodes, np.int64)
    heights = np.zeros(num_nodes, np.int32)
    lengths = np.zeros(nodes[num_nodes, FIRST_TOKEN], np.int32)
    for node in range(num_nodes - 1, 0, -1):
        symbol = nodes[node, PLACE] & SYMBOL_MASK
        group = np.int64(group_of_byte[symbol]) if symbol < len(group_of_byte) else np.int64(0)
        below, height = np.int64(1) << group, np.int32(0)
        child = node + 1
        while child < nodes[node, SUBTREE_END]:
            below |= groups[child]
            height = max(height, heights[child])
            child = nodes[child, SUBTREE_END]
        groups[node] = below
        heights[node] = height + np.int32(1)
        for i in range(nodes[node, FIRST_TOKEN], nodes[node + 1, FIRST_TOKEN]):
            lengths[i] = nodes[node, PLACE] >> DEPTH_SHIFT
    return groups, heights, lengths
