"""Trie: strings of symbols as a tree in preorder arrays: a walk is a loop, a dead prefix a jump."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


PLACE: Final = 0
SUBTREE_END: Final = 1
FIRST_TOKEN: Final = 2
CHILDREN: Final = 3
"""Columns of `Trie.nodes`."""

DEPTH_SHIFT: Final = 16
SYMBOL_MASK: Final = 0xFFFF

MIN_CHILDREN: Final = 12
"""Nodes with so many children have these listed, and so have the nodes above them."""


class Trie(NamedTuple):
    """A tree of symbol strings; node 0 is the root, the empty string.

    The tokens of a whole subtree stand together: those of node n and below are
    `token_ids[nodes[n, FIRST_TOKEN] : nodes[nodes[n, SUBTREE_END], FIRST_TOKEN]]`, those of n
    itself come first.

    Attributes:
        nodes: int32, (num_nodes + 1, 4), in preorder: the last symbol of each node and, shifted by
            DEPTH_SHIFT, the length of its string; the first node after its subtree; its first
            token; where its children are listed, or 0. The last row ends the tokens.
        token_ids: int32, (num_tokens,); several tokens may have the same string.
        children: int32, (n, 3): symbol, node and subtree end of the children of some nodes, the
            root's first. Most walks go past nearly all children of wide nodes, so these stand close
            together; the last child of a node ends where the node does.
    """

    nodes: NDArray[np.int32]
    token_ids: NDArray[np.int32]
    children: NDArray[np.int32]

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, the root included."""
        return len(self.nodes) - 1

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)

    def subtree_end(self, node: int) -> int:
        """The first node after a subtree."""
        return int(self.nodes[node, SUBTREE_END])

    def symbol(self, node: int) -> int:
        """The last symbol of a node."""
        return int(self.nodes[node, PLACE]) & SYMBOL_MASK

    def tokens_between(self, node: int, end: int) -> NDArray[np.int32]:
        """The tokens of the nodes from one to before another."""
        first, past = self.nodes[node, FIRST_TOKEN], self.nodes[end, FIRST_TOKEN]
        return self.token_ids[first:past]

    def level(self, node: int) -> int:
        """The length of a node's string."""
        return int(self.nodes[node, PLACE]) >> DEPTH_SHIFT

    def first_token(self, node: int) -> tuple[int, int]:
        """A token of the first node, at or below one, that has tokens; its length past the one."""
        token_id = int(self.token_ids[self.nodes[node, FIRST_TOKEN]])
        lower = node
        while self.nodes[lower + 1, FIRST_TOKEN] == self.nodes[node, FIRST_TOKEN]:
            lower += 1
        return token_id, self.level(lower) - self.level(node)

    def lengths_below(self, node: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The tokens of a subtree, and the lengths of their strings past its root."""
        end = self.subtree_end(node)
        levels = self.nodes[node:end, PLACE] >> DEPTH_SHIFT
        num_tokens = np.diff(self.nodes[node : end + 1, FIRST_TOKEN])
        return self.tokens_between(node, end), np.repeat(levels - levels[0], num_tokens)

    def root_entry(self, symbol: int) -> int | None:
        """The row of `children` for the root's child with a symbol, if it has one."""
        last = int(np.argmax(self.children[:, 2] == self.num_nodes)) if len(self.children) else -1
        rows = np.flatnonzero(self.children[: last + 1, 0] == symbol).tolist()
        return rows[0] if rows else None


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
    nodes, children = _preorder(symbols, begin, end)
    return Trie(nodes, token_ids, children)


@kernel
def _preorder(
    symbols: NDArray[np.uint16], begin: NDArray[np.int32], end: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The nodes and the lists of children, see `Trie`."""
    capacity = 1
    longest = 0
    for i in range(len(begin)):
        capacity += end[i] - begin[i]
        longest = max(longest, end[i] - begin[i])
    nodes = np.zeros((capacity + 1, 4), np.int32)
    parent = np.zeros(capacity, np.int32)
    num_children = np.zeros(capacity, np.int32)
    path = np.zeros(longest + 1, np.int32)  # the node of each prefix of the last string
    length = 0
    used = 1
    for i in range(len(begin)):
        size = end[i] - begin[i]
        shared = 0
        while (
            shared < length
            and shared < size
            and symbols[begin[i] + shared] == nodes[path[shared + 1], PLACE] & SYMBOL_MASK
        ):
            shared += 1
        for closed in range(shared + 1, length + 1):
            nodes[path[closed], SUBTREE_END] = used
        for level in range(shared + 1, size + 1):
            nodes[used, PLACE] = (level << DEPTH_SHIFT) | symbols[begin[i] + level - 1]
            nodes[used, FIRST_TOKEN] = i
            parent[used] = path[level - 1]
            num_children[path[level - 1]] += 1
            path[level] = used
            used += 1
        length = size
    for open_level in range(length + 1):
        nodes[path[open_level], SUBTREE_END] = used
    nodes[used, FIRST_TOKEN] = len(begin)

    is_listed = num_children >= MIN_CHILDREN
    is_listed[0] = True
    for node in range(used - 1, 0, -1):
        if is_listed[node]:
            is_listed[parent[node]] = True
    num_listed = 0
    for node in range(used):
        if is_listed[node]:
            nodes[node, CHILDREN] = num_listed
            num_listed += num_children[node]
    children = np.empty((num_listed, 3), np.int32)
    num_children[:] = 0
    for node in range(1, used):
        above = parent[node]
        if is_listed[above]:
            row = nodes[above, CHILDREN] + num_children[above]
            num_children[above] += 1
            children[row, 0] = nodes[node, PLACE] & SYMBOL_MASK
            children[row, 1] = node
            children[row, 2] = nodes[node, SUBTREE_END]
    return nodes[: used + 1].copy(), children


def extends(trie: Trie, string: NDArray[np.uint16], is_live: NDArray[np.bool_]) -> bool:
    """Whether some string of the trie is `string`, then a live symbol, then anything.

    Args:
        trie: where to look.
        string: uint16.
        is_live: bool, (num_symbols,); by symbol.
    """
    return _extends(trie.nodes, string, is_live)


@kernel
def _extends(
    nodes: NDArray[np.int32], string: NDArray[np.uint16], is_live: NDArray[np.bool_]
) -> bool:
    node = 0
    for wanted in string:
        child = node + 1
        while child < nodes[node, SUBTREE_END] and nodes[child, PLACE] & SYMBOL_MASK != wanted:
            child = nodes[child, SUBTREE_END]
        if child >= nodes[node, SUBTREE_END]:
            return False
        node = child
    child = node + 1
    while child < nodes[node, SUBTREE_END]:
        if is_live[nodes[child, PLACE] & SYMBOL_MASK]:
            return True
        child = nodes[child, SUBTREE_END]
    return False
