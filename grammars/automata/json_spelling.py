r"""The spellings of one character inside a JSON string, as a shared decision tree over bytes.

A node of the tree covers an aligned block of code points and has one edge for each digit of the
spelling: 6 bits of a UTF-8 continuation byte (RFC 3629, section 3) or 4 bits of a hexadecimal digit
(RFC 8259, section 7). Blocks of one class are shared, one node for each class, so the tree has
about as many nodes as there are boundaries between classes, never as many as there are characters:

    ROOT -- 20..7F but " and \ -----------------------------------------> class
         -- C2..DF -> UTF8_1, E0..EF -> UTF8_2, F0..F4 -> UTF8_3 ... ----> class
         -- \ -> ESCAPE -- " \ b f n r t (and /, in any spelling) -------> class
                        -- u -> HEX_4 -> HEX_3 -> HEX_2 -> HEX_1 --------> class   (any)
                             D8..DB at HEX_3 -> HIGH_2 -> HIGH_1 -> \ -> u -> D
                                             -> LOW_3 -> HEX_2 -> HEX_1 -> class
                        -- u -> 0 -> 0 -> CONTROL_2 -> CONTROL_1, HEX_1 --> class  (canonical)
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.charset import NUM_CODE_POINTS
from grammars.automata.kernels import grown, helper, kernel

if TYPE_CHECKING:
    from grammars.automata.kernels import Ints

# The kinds of nodes, children before their parents; CHARACTER is the leaf.
_KINDS: Final = (
    "CHARACTER UTF8_1 UTF8_2 UTF8_2_FIRST UTF8_3 UTF8_3_FIRST HEX_1 HEX_2 LOW_3 LETTER_D LETTER_U"
    " BACKSLASH HIGH_1 HIGH_2 HEX_3 HEX_3_SURROGATE HEX_4 CONTROL_1 CONTROL_2 ZERO_1 ZERO_2"
    " ESCAPE_ANY ESCAPE_CANONICAL ROOT_ANY ROOT_CANONICAL"
)
_KIND_NUMBER: Final = {name: number for number, name in enumerate(_KINDS.split())}

QUOTE: Final = 0x22
_BACKSLASH: Final = 0x5C
_SHORT_ESCAPES: Final = {  # letter after the backslash -> character
    '"': '"', "\\": "\\", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_HEX_DIGITS: Final = [(ord(letter), int(letter, 16)) for letter in "0123456789ABCDEFabcdef"]


class _Edge(NamedTuple):
    """An edge of every node of a kind.

    Args:
        byte: what it reads.
        child: the kind of the node that it leads to, or CHARACTER.
        offset: where the child's block begins, relative to the node's own block.
        size: code points in the child's block.
        is_shareable: whether the child spells all of its block: then blocks of one class are alike.
    """

    byte: int
    child: str
    offset: int
    size: int
    is_shareable: bool = True


def _utf8_edges(child: str, shift: int, *, first: int = 0) -> list[_Edge]:
    """Continuation bytes; shorter forms spell what comes before `first`."""
    return [
        _Edge(0x80 + digit, child, digit << shift, 1 << shift)
        for digit in range(64)
        if digit << shift >= first
    ]


def _hex_edges(child: str, shift: int, digits: range = range(16)) -> list[_Edge]:
    """Hexadecimal digits; the block of the first of `digits` is where the node's own begins."""
    return [
        _Edge(byte, child, (digit - digits.start) << shift, 1 << shift)
        for byte, digit in _HEX_DIGITS
        if digit in digits
    ]


def _letter_edges(letters: str, child: str, size: int = 0) -> list[_Edge]:
    """Certain letters, after which the block is the same."""
    return [_Edge(ord(letter), child, 0, size, is_shareable=size > 0) for letter in letters]


def _surrogate_edges() -> list[_Edge]:
    r"""After `\uD`: 0 to 7 are characters, 8 to B begin a pair, C to F never come first."""
    pairs = [
        _Edge(byte, "HIGH_2", 0x10000 - 0xD000 + ((digit - 8) << 18), 1 << 18)
        for byte, digit in _HEX_DIGITS
        if digit in range(8, 12)
    ]
    return _hex_edges("HEX_2", 8, range(8)) + pairs


def _root_edges(escape: str) -> list[_Edge]:
    edges = [_Edge(_BACKSLASH, escape, 0, 0, is_shareable=False)]
    edges += (
        _Edge(byte, "CHARACTER", byte, 1)
        for byte in range(0x20, 0x80)
        if byte not in (QUOTE, _BACKSLASH)
    )
    edges += (_Edge(byte, "UTF8_1", (byte - 0xC0) << 6, 1 << 6) for byte in range(0xC2, 0xE0))
    edges.append(_Edge(0xE0, "UTF8_2_FIRST", 0, 1 << 12, is_shareable=False))
    edges += (_Edge(byte, "UTF8_2", (byte - 0xE0) << 12, 1 << 12) for byte in range(0xE1, 0xF0))
    edges.append(_Edge(0xF0, "UTF8_3_FIRST", 0, 1 << 18, is_shareable=False))
    edges += (_Edge(byte, "UTF8_3", (byte - 0xF0) << 18, 1 << 18) for byte in range(0xF1, 0xF5))
    return edges


def _escape_edges(child: str) -> list[_Edge]:
    edges = [
        _Edge(ord(letter), "CHARACTER", ord(character), 1)
        for letter, character in _SHORT_ESCAPES.items()
    ]
    return edges + _letter_edges("u", child)


@lru_cache(maxsize=1)
def _edges_of_kinds() -> tuple[Ints, Ints]:
    """(edge_start, edges): the edges of all kinds in order, those of one kind by byte."""
    solidus = _Edge(ord("/"), "CHARACTER", ord("/"), 1)
    has_short_escape = [ord(character) for character in _SHORT_ESCAPES.values()]
    edges_of_kind: dict[str, list[_Edge]] = {
        "CHARACTER": [],
        "UTF8_1": _utf8_edges("CHARACTER", 0),
        "UTF8_2": _utf8_edges("UTF8_1", 6),
        "UTF8_2_FIRST": _utf8_edges("UTF8_1", 6, first=0x800),
        "UTF8_3": _utf8_edges("UTF8_2", 12),
        "UTF8_3_FIRST": _utf8_edges("UTF8_2", 12, first=0x10000),
        "HEX_1": _hex_edges("CHARACTER", 0),
        "HEX_2": _hex_edges("HEX_1", 4),
        "LOW_3": _hex_edges("HEX_2", 8, range(12, 16)),
        "LETTER_D": _letter_edges("Dd", "LOW_3", 0x400),
        "LETTER_U": _letter_edges("u", "LETTER_D", 0x400),
        "BACKSLASH": _letter_edges("\\", "LETTER_U", 0x400),
        "HIGH_1": _hex_edges("BACKSLASH", 10),
        "HIGH_2": _hex_edges("HIGH_1", 14),
        "HEX_3": _hex_edges("HEX_2", 8),
        "HEX_3_SURROGATE": _surrogate_edges(),
        "HEX_4": [
            edge._replace(child="HEX_3_SURROGATE", is_shareable=False)
            if edge.offset == 0xD000
            else edge
            for edge in _hex_edges("HEX_3", 12)
        ],
        "CONTROL_1": [
            edge for edge in _hex_edges("CHARACTER", 0) if edge.offset not in has_short_escape
        ],
        "CONTROL_2": [
            _Edge(ord("0"), "CONTROL_1", 0, 16, is_shareable=False),
            _Edge(ord("1"), "HEX_1", 16, 16),
        ],
        "ZERO_1": _letter_edges("0", "CONTROL_2"),
        "ZERO_2": _letter_edges("0", "ZERO_1"),
        "ESCAPE_ANY": [*_escape_edges("HEX_4"), solidus],
        "ESCAPE_CANONICAL": _escape_edges("ZERO_2"),
        "ROOT_ANY": _root_edges("ESCAPE_ANY"),
        "ROOT_CANONICAL": _root_edges("ESCAPE_CANONICAL"),
    }
    start = np.zeros(len(_KIND_NUMBER) + 1, np.int32)
    rows: list[tuple[int, int, int, int, bool]] = []
    for name, number in _KIND_NUMBER.items():
        for byte, child, offset, size, is_shareable in sorted(edges_of_kind[name]):
            rows.append((byte, _KIND_NUMBER[child], offset, size, is_shareable))
        start[number + 1] = len(rows)
    return start, np.array(rows, np.int32)


class SpellingTree(NamedTuple):
    """The tree as arrays; node 0 is the root.

    Args:
        order: int32, (num_nodes,); the nodes, children before their parents.
        edge_start: int32, (num_nodes + 1,); node n has edges edge_start[n]..edge_start[n + 1] - 1.
        low: int32, (num_edges,); the first byte of an edge.
        high: int32, (num_edges,); its last byte.
        target: int32, (num_edges,); class c >= 1 if the character ends here, or -n for node n >= 1.
    """

    order: Ints
    edge_start: Ints
    low: Ints
    high: Ints
    target: Ints


def spelling_tree(range_start: Ints, range_class: Ints, *, is_canonical: bool) -> SpellingTree:
    """The tree of the spellings of all characters of classes >= 1.

    Args:
        range_start: as in `CodePointDfa`.
        range_class: as in `CodePointDfa`.
        is_canonical: one spelling a character (but for the case of hexadecimal digits), else all.
    """
    starts = np.append(range_start, np.int32(NUM_CODE_POINTS))
    classes = np.append(range_class, np.int32(0))
    root = _KIND_NUMBER["ROOT_CANONICAL" if is_canonical else "ROOT_ANY"]
    return SpellingTree(
        *_spelling_tree(starts, classes, int(range_class.max()) + 1, root, *_edges_of_kinds())
    )


@helper
def _range_index(starts: Ints, code_point: int) -> int:
    """The range that holds a code point."""
    low = 0
    high = starts.shape[0] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if starts[middle] <= code_point:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def _spelling_tree(
    starts: Ints, classes: Ints, num_classes: int, root: int, kind_start: Ints, kind_edges: Ints
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    node_kind = np.empty(512, np.int32)
    node_base = np.empty(512, np.int32)
    edge_start = np.zeros(513, np.int32)
    low = np.empty(1024, np.int32)
    high = np.empty(1024, np.int32)
    target = np.empty(1024, np.int32)
    shared = np.zeros((kind_start.shape[0], num_classes), np.int32)  # the node of a uniform block
    node_kind[0] = root
    node_base[0] = 0
    num_nodes = 1
    num_edges = 0
    node = 0
    while node < num_nodes:
        if num_nodes + 256 > node_kind.shape[0]:
            node_kind = grown(node_kind, 2 * node_kind.shape[0])
            node_base = grown(node_base, 2 * node_base.shape[0])
            edge_start = grown(edge_start, node_kind.shape[0] + 1)
        if num_edges + 256 > low.shape[0]:
            low = grown(low, 2 * low.shape[0])
            high = grown(high, 2 * high.shape[0])
            target = grown(target, 2 * target.shape[0])
        edge_start[node] = num_edges
        first_child = num_nodes
        for e in range(kind_start[node_kind[node]], kind_start[node_kind[node] + 1]):
            child = kind_edges[e, 1]
            base = node_base[node] + kind_edges[e, 2]
            size = kind_edges[e, 3]
            index = _range_index(starts, base)
            symbol = classes[index]
            is_uniform = kind_edges[e, 4] == 1 and (
                index + 1 == starts.shape[0] or starts[index + 1] >= base + size
            )
            goal = 0
            if is_uniform and (symbol == 0 or child == 0):
                goal = symbol
            elif is_uniform and shared[child, symbol] != 0:
                goal = -shared[child, symbol]
            else:
                if not is_uniform:  # the other case of a hexadecimal digit has the same block
                    for n in range(first_child, num_nodes):
                        if node_base[n] == base and node_kind[n] == child:
                            goal = -n
                if goal == 0:
                    if is_uniform:
                        shared[child, symbol] = num_nodes
                    goal = -num_nodes
                    node_kind[num_nodes] = child
                    node_base[num_nodes] = base
                    num_nodes += 1
            if goal == 0:
                continue
            byte = kind_edges[e, 0]
            last = num_edges - 1
            if num_edges > edge_start[node] and high[last] == byte - 1 and target[last] == goal:
                high[last] = byte
            else:
                low[num_edges] = byte
                high[num_edges] = byte
                target[num_edges] = goal
                num_edges += 1
        node += 1
    edge_start[node] = num_edges

    order = np.empty(node, np.int32)
    at = 0
    for kind in range(kind_start.shape[0] - 1):
        for n in range(node):
            if node_kind[n] == kind:
                order[at] = n
                at += 1
    return order, edge_start[: node + 1], low[:num_edges], high[:num_edges], target[:num_edges]
