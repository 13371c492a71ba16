"""The fewest tokens that spell shortest texts: to the end of a string, or any way in a forest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.content_ends import MAX_SPELLING, way_to_end
from grammars.automata.dfa import DEAD
from grammars.automata.kernels import helper, kernel
from grammars.masks.trie import CHILDREN, FIRST_TOKEN, PLACE, SUBTREE_END, SYMBOL_MASK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.content_ends import Content, Ends
    from grammars.automata.kernels import Ints

_NO_NODE: Final = -1

MANY: Final = 2**30
"""Tokens to the end from nowhere."""


@kernel
def tokens_to_end(
    before: NDArray[np.uint8],
    places: Ints,
    content: Content,
    ends: Ends,
    fewest: Ints,
    nodes: Ints,
    children: Ints,
) -> Ints:
    """The fewest tokens of the shortest texts from some places to the end of a string.

    Args:
        before: uint8; bytes that come before the place: the opening quote, or none.
        places: int32, (num_places, 2); each a `ContentPlace`.
        content: of the string.
        ends: of the same.
        fewest: int32, (num_positions,); the fewest tokens from each position of its forest, 0 where
            they are not known. Those that are met become known.
        nodes: see `Trie`; of the tokens.
        children: see there.

    Returns:
        int32, (num_places,); MANY where the state is DEAD.
    """
    num_before = len(before)
    data = np.zeros(num_before + MAX_SPELLING, np.uint8)
    data[:num_before] = before
    left = np.zeros(len(data) + 1, np.int32)  # tokens from each byte of `data` on
    result = np.full(len(places), MANY, np.int32)
    for i in range(len(places)):
        if places[i, 0] == DEAD:
            continue
        size, position = way_to_end(places[i, 0], places[i, 1], content, ends, data[num_before:])
        _learn(position, ends[4], ends[5], fewest, nodes, children)
        size += num_before
        for k in range(size - 1, -1, -1):
            left[k] = _fewest(
                data, size, k, position, left, ends[4], ends[5], fewest, nodes, children
            )
        result[i] = left[0] if size > 0 else fewest[position]
    return result


@kernel
def tokens_of_way(
    position: int,
    byte: NDArray[np.uint8],
    following: Ints,
    fewest: Ints,
    nodes: Ints,
    children: Ints,
) -> int:
    """The fewest tokens of one way in a forest; those of all its ends become known, too.

    Args:
        position: where it begins; not 0, the end of all ways.
        byte: uint8, (num_positions,); what comes next.
        following: int32, (num_positions,); the position after it.
        fewest: see `tokens_to_end`.
        nodes: see there.
        children: see there.
    """
    _learn(position, byte, following, fewest, nodes, children)
    return int(fewest[position])


@helper
def _learn(
    position: int,
    byte: NDArray[np.uint8],
    following: Ints,
    fewest: Ints,
    nodes: Ints,
    children: Ints,
) -> None:
    """Find the fewest tokens from all positions of a way."""
    num_unknown = 0
    at = position
    while at != 0 and fewest[at] == 0:
        num_unknown += 1
        at = following[at]
    way = np.empty(num_unknown, np.int32)
    at = position
    for i in range(num_unknown):
        way[i] = at
        at = following[at]
    nothing = np.zeros(0, np.uint8)
    for i in range(num_unknown - 1, -1, -1):
        fewest[way[i]] = _fewest(
            nothing, 0, 0, way[i], fewest, byte, following, fewest, nodes, children
        )


@helper
def _fewest(
    data: NDArray[np.uint8],
    size: int,
    begin: int,
    position: int,
    left: Ints,
    byte: NDArray[np.uint8],
    following: Ints,
    fewest: Ints,
    nodes: Ints,
    children: Ints,
) -> int:
    """The fewest tokens of `data[begin:size]` and of the way from a position.

    Those after every byte of both are known: `left` and `fewest`.
    """
    best = MANY
    node = 0
    while begin < size or position != 0:
        if begin < size:
            symbol = int(data[begin])
            begin += 1
        else:
            symbol = int(byte[position])
            position = following[position]
        node = _child(node, symbol, nodes, children)
        if node == _NO_NODE:
            break
        if nodes[node, FIRST_TOKEN] < nodes[node + 1, FIRST_TOKEN]:
            best = min(best, 1 + (left[begin] if begin < size else fewest[position]))
    return best


@helper
def _child(node: int, symbol: int, nodes: Ints, children: Ints) -> int:
    """The child of a node of a trie with a symbol; symbols ascend."""
    past = nodes[node, SUBTREE_END]
    if node == 0 or nodes[node, CHILDREN] != 0:
        row = nodes[node, CHILDREN]
        while children[row, 0] < symbol and children[row, 2] != past:
            row += 1
        return children[row, 1] if children[row, 0] == symbol else _NO_NODE
    child = node + 1
    while child < past:
        found = nodes[child, PLACE] & SYMBOL_MASK
        if found >= symbol:
            return child if found == symbol else _NO_NODE
        child = nodes[child, SUBTREE_END]
    return _NO_NODE
