"""ContentEnds: the shortest text from each place in a string to its closing quote.

Of equally short ones it is the first in order of bytes. So what is left of one after any byte is
again the one of the place that is reached: all of them are ways in one forest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from grammars.automata.content_bytes import BETWEEN, after_byte, content_bytes
from grammars.automata.dfa import DEAD
from grammars.automata.json_spelling import QUOTE
from grammars.automata.kernels import helper, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.kernels import Bools, Ints

    Content: TypeAlias = tuple[Ints, Ints, Ints, Bools, Ints, Ints, Ints, Ints, Bools]
    """The fields of `ContentBytes`."""

    Ends: TypeAlias = tuple[Ints, Ints, Ints, Ints, NDArray[np.uint8], Ints]
    """Those of `ContentEnds`."""

MAX_SPELLING: Final = 6
r"""Bytes of one character at most: `\u001f`."""

_FAR: Final = 2**30
"""Bytes to the end from where there is none."""


class ContentEnds(NamedTuple):
    """The shortest texts to the end of a string.

    Attributes:
        distance: int32, (num_states,); bytes from between two characters, the quote included.
        length: int32, (num_nodes, num_symbols); bytes of a character from a node of the spelling
            tree, 0 where it is not spelled by way of it.
        edge: int32, (num_nodes, num_symbols); the edge of that tree with which they begin.
        start: int32, (num_states,); where the text of a state begins in the forest.
        byte: uint8, (num_positions,); what comes next. Position 0 is behind the quote.
        following: int32, (num_positions,); the position after it, which is less.
    """

    distance: Ints
    length: Ints
    edge: Ints
    start: Ints
    byte: NDArray[np.uint8]
    following: Ints


def content_ends(content: CodePointDfa) -> ContentEnds:
    """The ends of a content; remembered for as long as that is."""
    known = _known.get(content)
    if known is None:
        known = _known[content] = ContentEnds(*_find_ends(content_bytes(content)[:]))
    return known


_known: Final[WeakKeyDictionary[CodePointDfa, ContentEnds]] = WeakKeyDictionary()


@kernel
def _find_ends(content: Content) -> Ends:
    edge_first, edge_symbol, edge_target, accepting, node_first, low, _, target, spells = content
    length, edge = _spellings(node_first, target, spells)
    distance = _distances(edge_first, edge_symbol, edge_target, accepting, length)
    num_states = len(accepting)
    step = np.full(num_states, -1, np.int32)  # the step to take; -1 is the quote
    size = np.zeros(num_states, np.int32)  # bytes of it
    most = 0
    for state in range(num_states):
        if distance[state] < _FAR:
            most = max(most, distance[state])
            size[state] = 1
            if not accepting[state]:
                step[state] = best_step(
                    state, BETWEEN, edge_first, edge_symbol, edge_target, distance, length, edge,
                    low, target,
                )  # fmt: skip
                size[state] = length[BETWEEN, edge_symbol[step[state]]]
    num_with = np.zeros(most + 2, np.int64)  # positions of states that are nearer
    for state in range(num_states):
        if distance[state] < _FAR:
            num_with[distance[state] + 1] += size[state]
    num_with = np.cumsum(num_with)
    num_positions = 1 + num_with[most + 1]
    byte = np.zeros(num_positions, np.uint8)
    following = np.zeros(num_positions, np.int32)
    start = np.zeros(num_states, np.int32)
    for state in range(num_states):
        if distance[state] < _FAR:
            num_with[distance[state]] += size[state]
            start[state] = num_with[distance[state]]
    for state in range(num_states):
        if distance[state] == _FAR:
            continue
        position = start[state]
        if step[state] < 0:
            byte[position] = QUOTE
            continue
        node, symbol = BETWEEN, edge_symbol[step[state]]
        for k in range(size[state]):
            e = edge[node, symbol]
            byte[position - k] = low[e]
            following[position - k] = position - k - 1
            node = -target[e]
        following[position - size[state] + 1] = start[edge_target[step[state]]]
    return distance, length, edge, start, byte, following


@helper
def _spellings(node_first: Ints, target: Ints, spells: Bools) -> tuple[Ints, Ints]:
    """`ContentEnds.length` and `.edge`."""
    length = np.zeros(spells.shape, np.int32)
    edge = np.zeros(spells.shape, np.int32)
    for _ in range(MAX_SPELLING):  # one more byte each time
        for node in range(len(node_first) - 1):
            for e in range(node_first[node], node_first[node + 1]):
                if target[e] > 0:
                    if length[node, target[e]] != 1:
                        length[node, target[e]], edge[node, target[e]] = 1, e
                    continue
                for symbol in range(spells.shape[1]):
                    below = length[-target[e], symbol]
                    known = length[node, symbol]
                    if below > 0 and (known == 0 or below + 1 < known):
                        length[node, symbol], edge[node, symbol] = below + 1, e
    return length, edge


@helper
def _distances(
    edge_first: Ints, edge_symbol: Ints, edge_target: Ints, accepting: Bools, length: Ints
) -> Ints:
    """`ContentEnds.distance`."""
    distance = np.full(len(accepting), _FAR, np.int32)
    distance[accepting] = 1
    has_changed = True
    ascends = True
    while has_changed:  # few rounds: most steps lead to greater numbers, or most to lesser ones
        has_changed = False
        ascends = not ascends
        for k in range(1, len(accepting)):
            state = k if ascends else len(accepting) - k
            for e in range(edge_first[state], edge_first[state + 1]):
                size = length[BETWEEN, edge_symbol[e]]
                if size > 0 and size + distance[edge_target[e]] < distance[state]:
                    distance[state] = size + distance[edge_target[e]]
                    has_changed = True
    return distance


@helper
def best_step(
    state: int,
    node: int,
    edge_first: Ints,
    edge_symbol: Ints,
    edge_target: Ints,
    distance: Ints,
    length: Ints,
    edge: Ints,
    low: Ints,
    target: Ints,
) -> int:
    """The step of the content with the character that the shortest text goes on with."""
    best, fewest = -1, _FAR
    for e in range(edge_first[state], edge_first[state + 1]):
        symbol = edge_symbol[e]
        if length[node, symbol] == 0:
            continue
        num_bytes = length[node, symbol] + distance[edge_target[e]]
        if num_bytes < fewest or (
            num_bytes == fewest and _is_before(symbol, edge_symbol[best], node, edge, low, target)
        ):
            best, fewest = e, num_bytes
    return best


@helper
def _is_before(symbol: int, other: int, node: int, edge: Ints, low: Ints, target: Ints) -> bool:
    """Whether the spelling of one character comes before that of another."""
    while edge[node, symbol] == edge[node, other]:
        node = -target[edge[node, symbol]]
    return bool(low[edge[node, symbol]] < low[edge[node, other]])


@helper
def way_to_end(
    state: int, node: int, content: Content, ends: Ends, data: NDArray[np.uint8]
) -> tuple[int, int]:
    """The shortest text from any place: how many bytes of `data` it begins with, and the position.

    Args:
        state: of the content.
        node: of the spelling tree.
        content: of which string.
        ends: of the same.
        data: uint8, (MAX_SPELLING,); set to what is left of a character that has been begun.
    """
    edge_first, edge_symbol, edge_target, _, _, low, _, target, _ = content
    distance, length, edge, start, _, _ = ends
    if node == BETWEEN:
        return 0, start[state]
    e = best_step(
        state, node, edge_first, edge_symbol, edge_target, distance, length, edge, low, target
    )
    symbol = edge_symbol[e]
    size = length[node, symbol]
    for k in range(size):
        data[k] = low[edge[node, symbol]]
        node = -target[edge[node, symbol]]
    return size, start[edge_target[e]]


@kernel
def ends_beside(places: Ints, content: Content, ends: Ends, others: Ints, other: Content) -> Bools:
    """Whether the shortest texts to the end of one string end another one, too.

    Args:
        places: int32, (num_places, 2); each a `ContentPlace` in the one string.
        content: the one.
        ends: of it.
        others: int32, (num_places, 2); where the same text is in the other string.
        other: the other.

    Returns:
        bool, (num_places,).
    """
    accepting, byte, following = other[3], ends[4], ends[5]
    data = np.zeros(MAX_SPELLING, np.uint8)
    result = np.zeros(len(places), np.bool_)
    for i in range(len(places)):
        if places[i, 0] == DEAD:
            continue
        state, node = others[i, 0], others[i, 1]
        size, position = way_to_end(places[i, 0], places[i, 1], content, ends, data)
        for k in range(size):
            state, node = _after(int(data[k]), state, node, other)
        while following[position] != 0:
            state, node = _after(int(byte[position]), state, node, other)
            position = following[position]
        result[i] = node == BETWEEN and accepting[state]
    return result


@helper
def _after(byte: int, state: int, node: int, content: Content) -> tuple[int, int]:
    """As `after_byte`; DEAD has no steps."""
    edge_first, edge_symbol, edge_target, _, node_first, low, high, target, spells = content
    return after_byte(
        byte, state, node, edge_first, edge_symbol, edge_target, node_first, low, high, target,
        spells,
    )  # fmt: skip
