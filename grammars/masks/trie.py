"""Trie: strings of symbols as a tree in preorder arrays: a walk is a loop, a dead prefix a jump."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammars.automata.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Trie(NamedTuple):
    """A tree of symbol strings; node 0 is the root, the empty string.

    The tokens of a whole subtree stand together: those of node n and below are
    `token_ids[first_token[n] : first_token[subtree_end[n]]]`, those of n itself come first.

    Attributes:
        symbol: uint16, (num_nodes,); the last symbol of each node, 0 for the root.
        depth: int32, (num_nodes,); the length of its string.
        subtree_end: int32, (num_nodes,); the first node after its subtree.
        first_token: int32, (num_nodes + 1,); see above.
        token_ids: int32, (num_tokens,); several tokens may have the same string.
        first_nodes: int32, (num_children, 3); symbol, node and subtree end of each child of the
            root. Most walks go past nearly all of them, so they stand close together.
    """

    symbol: NDArray[np.uint16]
    depth: NDArray[np.int32]
    subtree_end: NDArray[np.int32]
    first_token: NDArray[np.int32]
    token_ids: NDArray[np.int32]
    first_nodes: NDArray[np.int32]

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)


def build_trie(
    symbols: NDArray[np.uint16],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    token_ids: NDArray[np.int32],
) -> Trie:
    """The trie of strings that are given in ascending order.

    Args:
        symbols: uint16, flat; holds all strings.
        begin: int32, (num_tokens,); string i is `symbols[begin[i] : end[i]]`.
        end: int32, (num_tokens,).
        token_ids: int32, (num_tokens,); the token of each string.
    """
    symbol, depth, subtree_end, first_token = _preorder(symbols, begin, end)
    return Trie(
        symbol, depth, subtree_end, first_token, token_ids, find_first_nodes(symbol, subtree_end)
    )


def find_first_nodes(
    symbol: NDArray[np.uint16], subtree_end: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The children of the root, see `Trie`."""
    rows = []
    node = 1
    while node < len(symbol):
        end = int(subtree_end[node])
        rows.append((int(symbol[node]), node, end))
        node = end
    return np.array(rows, np.int32).reshape(-1, 3)


@kernel
def _preorder(
    symbols: NDArray[np.uint16], begin: NDArray[np.int32], end: NDArray[np.int32]
) -> tuple[NDArray[np.uint16], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    capacity = 1
    longest = 0
    for i in range(len(begin)):
        capacity += end[i] - begin[i]
        longest = max(longest, end[i] - begin[i])
    symbol = np.zeros(capacity, np.uint16)
    depth = np.zeros(capacity, np.int32)
    subtree_end = np.zeros(capacity, np.int32)
    first_token = np.zeros(capacity + 1, np.int32)
    path = np.zeros(longest + 1, np.int32)  # the node of each prefix of the last string
    length = 0
    used = 1
    for i in range(len(begin)):
        size = end[i] - begin[i]
        shared = 0
        while (
            shared < length
            and shared < size
            and symbols[begin[i] + shared] == symbol[path[shared + 1]]
        ):
            shared += 1
        for closed in range(shared + 1, length + 1):
            subtree_end[path[closed]] = used
        for level in range(shared + 1, size + 1):
            symbol[used] = symbols[begin[i] + level - 1]
            depth[used] = level
            first_token[used] = i
            path[level] = used
            used += 1
        length = size
    for open_level in range(length + 1):
        subtree_end[path[open_level]] = used
    first_token[used] = len(begin)
    return symbol[:used], depth[:used], subtree_end[:used], first_token[: used + 1]


def extends(trie: Trie, string: NDArray[np.uint16], is_live: NDArray[np.bool_]) -> bool:
    """Whether some string of the trie is `string`, then a live symbol, then anything.

    Args:
        trie: where to look.
        string: uint16.
        is_live: bool, (num_symbols,); by symbol.
    """
    return _extends(trie.symbol, trie.subtree_end, string, is_live)


@kernel
def _extends(
    symbol: NDArray[np.uint16],
    subtree_end: NDArray[np.int32],
    string: NDArray[np.uint16],
    is_live: NDArray[np.bool_],
) -> bool:
    node = 0
    for wanted in string:
        child = node + 1
        while child < subtree_end[node] and symbol[child] != wanted:
            child = subtree_end[child]
        if child >= subtree_end[node]:
            return False
        node = child
    child = node + 1
    while child < subtree_end[node]:
        if is_live[symbol[child]]:
            return True
        child = subtree_end[child]
    return False
