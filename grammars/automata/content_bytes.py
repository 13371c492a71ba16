"""ContentBytes: the strings of a content read byte by byte, without an automaton over bytes.

Such an automaton (`json_string`) has a row for each state and each of its characters; a long list
has too many. But where a text is in a string is told by two numbers: the state of the content, and
how far the next character has been spelled, a node of `json_spelling`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.automata.edges import Edges
from grammars.automata.json_spelling import spelling_tree
from grammars.automata.kernels import helper, kernel

if TYPE_CHECKING:
    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.kernels import Bools, Ints

BETWEEN: Final = 0
"""The node of `SpellingTree` at which no byte of a character has been read: its root."""


class ContentPlace(NamedTuple):
    """Where a text is in a string.

    Args:
        state: of the content, before the character that is being read; DEAD is nowhere.
        node: of the spelling tree.
    """

    state: int
    node: int


class ContentBytes(NamedTuple):
    """An automaton over characters, and their canonical spelling, as a kernel reads them.

    Attributes:
        edge_first: int32, (num_states + 1,); the steps of the content, see `Edges`.
        edge_symbol: int32, (num_steps,).
        edge_target: int32, (num_steps,).
        accepting: bool, (num_states,).
        node_first: int32, (num_nodes + 1,); the edges of the spelling tree, see `SpellingTree`.
        low: int32, (num_edges,).
        high: int32, (num_edges,).
        target: int32, (num_edges,).
        spells: bool, (num_nodes, num_symbols); whether a character is spelled by way of a node.
    """

    edge_first: Ints
    edge_symbol: Ints
    edge_target: Ints
    accepting: Bools
    node_first: Ints
    low: Ints
    high: Ints
    target: Ints
    spells: Bools

    @property
    def edges(self) -> Edges:
        """The steps of the content."""
        return Edges(self.edge_first, self.edge_symbol, self.edge_target)

    def after(self, place: ContentPlace, data: bytes) -> ContentPlace:
        """Where some bytes lead; the quote that ends a string leads nowhere."""
        text = np.frombuffer(bytearray(data), np.uint8)
        state, node = _after_bytes(text, place.state, place.node, *self)
        return ContentPlace(state, node)


def content_bytes(content: CodePointDfa) -> ContentBytes:
    """The strings of a content; remembered for as long as that is."""
    known = _known.get(content)
    if known is None:
        known = _known[content] = _make(content)
    return known


def _make(content: CodePointDfa) -> ContentBytes:
    tree = spelling_tree(content.range_start, content.range_class, is_canonical=True)
    num_symbols = int(content.range_class.max()) + 1
    return ContentBytes(
        *content.edge_lists(),
        content.accepting,
        tree.edge_start,
        tree.low,
        tree.high,
        tree.target,
        _spelled_below(tree.order, tree.edge_start, tree.target, num_symbols),
    )


_known: Final[WeakKeyDictionary[CodePointDfa, ContentBytes]] = WeakKeyDictionary()


@kernel
def _spelled_below(order: Ints, node_first: Ints, target: Ints, num_symbols: int) -> Bools:
    """`ContentBytes.spells`."""
    spells = np.zeros((len(order), num_symbols), np.bool_)
    for node in order:
        for e in range(node_first[node], node_first[node + 1]):
            if target[e] > 0:
                spells[node, target[e]] = True
            else:
                for symbol in range(num_symbols):
                    spells[node, symbol] |= spells[-target[e], symbol]
    return spells


@kernel
def _after_bytes(
    data: np.ndarray[tuple[int], np.dtype[np.uint8]],
    state: int,
    node: int,
    edge_first: Ints,
    edge_symbol: Ints,
    edge_target: Ints,
    accepting: Bools,  # noqa: ARG001  # the fields of `ContentBytes`
    node_first: Ints,
    low: Ints,
    high: Ints,
    target: Ints,
    spells: Bools,
) -> tuple[int, int]:
    for byte in data:
        state, node = after_byte(
            int(byte), state, node, edge_first, edge_symbol, edge_target, node_first, low, high,
            target, spells,
        )  # fmt: skip
    return state, node


@helper
def after_byte(
    byte: int,
    state: int,
    node: int,
    edge_first: Ints,
    edge_symbol: Ints,
    edge_target: Ints,
    node_first: Ints,
    low: Ints,
    high: Ints,
    target: Ints,
    spells: Bools,
) -> tuple[int, int]:
    """The state and the node after a byte; (DEAD, BETWEEN) where no string goes on with it."""
    first, past = node_first[node], node_first[node + 1]
    while past - first > 1:  # the last edge that does not begin after the byte
        middle = (first + past) // 2
        if low[middle] <= byte:
            first = middle
        else:
            past = middle
    if first == node_first[node + 1] or not low[first] <= byte <= high[first]:
        return DEAD, BETWEEN
    goal = target[first]
    if goal > 0:
        return _after_character(goal, state, edge_first, edge_symbol, edge_target), BETWEEN
    for e in range(edge_first[state], edge_first[state + 1]):
        if spells[-goal, edge_symbol[e]]:
            return state, -goal
    return DEAD, BETWEEN


@helper
def _after_character(
    symbol: int, state: int, edge_first: Ints, edge_symbol: Ints, edge_target: Ints
) -> int:
    first, past = edge_first[state], edge_first[state + 1]
    while first < past:
        middle = (first + past) // 2
        if edge_symbol[middle] < symbol:
            first = middle + 1
        else:
            past = middle
    is_there = first < edge_first[state + 1] and edge_symbol[first] == symbol
    return edge_target[first] if is_there else DEAD
