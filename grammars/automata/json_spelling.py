"""The spellings of one character inside a JSON string, as a shared decision tree over bytes.

A tree node covers an aligned block of code points and has one edge for each digit of the spelling: 6 bits of a
UTF-8 continuation byte (RFC 3629, section 3) or 4 bits of a hexadecimal digit (RFC 8259, section 7). A block all
of whose code points are of one class is one shared node for each class, so the tree has about as many nodes as
there are boundaries between classes, never as many as there are characters:

    ROOT -- 0x20..0x7F but " and \\ ------------------------------------------> class
         -- C2..DF -> UTF8_1, E0..EF -> UTF8_2 -> UTF8_1, F0..F4 -> UTF8_3 -> ... -> class
         -- \\ -> ESCAPE -- " \\ b f n r t (and /, any spelling) --------------> class
                        -- u -> HEX_4 -> HEX_3 -> HEX_2 -> HEX_1 -------------> class     (any)
                                        -> D8..DB: HIGH_2 -> HIGH_1 -> BACKSLASH -> LETTER_U
                                           -> LETTER_D -> LOW_3 -> HEX_2 -> HEX_1 -> class (surrogate pairs)
                        -- u -> ZERO_2 -> ZERO_1 -> CONTROL_2 -> CONTROL_1 ----> class     (canonical)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numba import njit

from grammars.automata.charset import NUM_CODE_POINTS
from grammars.automata.kernels import grown

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The kinds of nodes. Children always have smaller kinds than their parents.
UTF8_1: Final = 0
UTF8_2: Final = 1
UTF8_3: Final = 2
HEX_1: Final = 3
HEX_2: Final = 4
LOW_3: Final = 5
LETTER_D: Final = 6
LETTER_U: Final = 7
BACKSLASH: Final = 8
HIGH_1: Final = 9
HIGH_2: Final = 10
HEX_3: Final = 11
HEX_4: Final = 12
CONTROL_1: Final = 13
CONTROL_2: Final = 14
ZERO_1: Final = 15
ZERO_2: Final = 16
ESCAPE: Final = 17
ROOT: Final = 18
NUM_KINDS: Final = 19

QUOTE: Final = 0x22
SHORT_ESCAPES: Final = (  # byte after the backslash, code point; ascending, the solidus first
    (0x2F, 0x2F),
    (0x22, 0x22),
    (0x5C, 0x5C),
    (0x62, 0x08),
    (0x66, 0x0C),
    (0x6E, 0x0A),
    (0x72, 0x0D),
    (0x74, 0x09),
)


class SpellingTree(NamedTuple):
    """The tree as arrays; node 0 is the root.

    Args:
        order: int32, (num_nodes,); the nodes, children before their parents.
        edge_start: int32, (num_nodes + 1,); the edges of node n are edge_start[n] .. edge_start[n + 1] - 1.
        low, high: int32, (num_edges,); the bytes of an edge, inclusive.
        target: int32, (num_edges,); class c >= 1 when the character ends here, or -n for node n >= 1.
    """

    order: NDArray[np.int32]
    edge_start: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    target: NDArray[np.int32]


def spelling_tree(
    range_start: NDArray[np.int32], range_class: NDArray[np.int32], *, is_canonical: bool
) -> SpellingTree:
    """The tree of the spellings of all characters of classes >= 1.

    Args:
        range_start, range_class: as in `CodePointDfa`.
        is_canonical: one spelling for each character (but for the case of hexadecimal digits), else all.
    """
    starts = np.append(range_start, np.int32(NUM_CODE_POINTS))
    classes = np.append(range_class, np.int32(0))
    num_classes = int(range_class.max()) + 1
    return SpellingTree(*_spelling_tree(starts, classes, num_classes, is_canonical))


@njit(cache=True, nogil=True)
def _range_index(starts, code_point):  # type: ignore[no-untyped-def] # numba infers types
    """The range that holds a code point."""
    low, high = 0, starts.shape[0] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if starts[middle] <= code_point:
            low = middle
        else:
            high = middle - 1
    return low


@njit(cache=True, nogil=True)
def _child(kind, base, size, is_whole, starts, classes, uniform, node_kind, node_base, count):  # type: ignore[no-untyped-def] # numba
    """The target for the block base .. base + size - 1 (0: nothing in it); may make a node.

    `is_whole` says that a block of one class is spelled in full below this kind of node, so that it can be shared.
    `count[0]` is the number of nodes.
    """
    index = _range_index(starts, base)
    symbol = classes[index]
    is_uniform = is_whole and (index + 1 == starts.shape[0] or starts[index + 1] >= base + size)
    if is_uniform:
        if symbol == 0 or size == 1:
            return symbol
        if uniform[kind, symbol] != 0:
            return -uniform[kind, symbol]
        uniform[kind, symbol] = count[0]
    node_kind[count[0]] = kind
    node_base[count[0]] = base
    count[0] += 1
    return 1 - count[0]


@njit(cache=True, nogil=True)
def _spelling_tree(starts, classes, num_classes, is_canonical):  # type: ignore[no-untyped-def] # numba infers types
    node_kind = np.empty(512, np.int32)
    node_base = np.empty(512, np.int32)
    edge_start = np.zeros(513, np.int32)
    low = np.empty(1024, np.int32)
    high = np.empty(1024, np.int32)
    target = np.empty(1024, np.int32)
    uniform = np.zeros((NUM_KINDS, num_classes), np.int32)
    # Of one node: the edges at hand, as (first byte, last byte, target), before merging.
    byte = np.empty(256, np.int32)
    goal = np.empty(256, np.int32)
    digit_goal = np.empty(16, np.int32)
    count = np.ones(1, np.int32)
    node_kind[0] = ROOT
    node_base[0] = 0
    num_edges = 0
    node = 0
    while node < count[0]:
        if count[0] + 256 > node_kind.shape[0]:
            node_kind = grown(node_kind, 2 * node_kind.shape[0])
            node_base = grown(node_base, 2 * node_base.shape[0])
            edge_start = grown(edge_start, node_kind.shape[0] + 1)
        if num_edges + 256 > low.shape[0]:
            low = grown(low, 2 * low.shape[0])
            high = grown(high, 2 * high.shape[0])
            target = grown(target, 2 * target.shape[0])
        kind = node_kind[node]
        base = node_base[node]
        used = 0
        if kind == ROOT:
            for b in range(0x20, 0xF5):
                if b == QUOTE or 0x80 <= b < 0xC2:
                    continue
                if b == 0x5C:
                    k, first, size, is_whole = ESCAPE, 0, 0, False
                elif b < 0x80:
                    k, first, size, is_whole = ROOT, b, 1, True
                elif b < 0xE0:
                    k, first, size, is_whole = UTF8_1, (b - 0xC0) << 6, 1 << 6, True
                elif b < 0xF0:  # E0 must not spell what fits in two bytes
                    k, first, size, is_whole = UTF8_2, (b - 0xE0) << 12, 1 << 12, b != 0xE0
                else:  # F0 must not spell what fits in three bytes
                    k, first, size, is_whole = UTF8_3, (b - 0xF0) << 18, 1 << 18, b != 0xF0
                byte[used] = b
                goal[used] = _child(
                    k, first, size, is_whole, starts, classes, uniform, node_kind, node_base, count
                )
                used += 1
        elif kind == ESCAPE:
            for letter, code_point in SHORT_ESCAPES:
                if letter != 0x2F or not is_canonical:
                    byte[used] = letter
                    goal[used] = classes[_range_index(starts, code_point)]
                    used += 1
            byte[used] = 0x75
            goal[used] = _child(
                ZERO_2 if is_canonical else HEX_4,
                0, 0, False, starts, classes, uniform, node_kind, node_base, count,
            )  # fmt: skip
            used += 1
        elif kind <= UTF8_3:
            size = 1 << (6 * kind)
            smallest = 0x800 if kind == UTF8_2 else 0x10000 if kind == UTF8_3 else 0
            for digit in range(64):
                first = base + digit * size
                if first >= smallest:
                    byte[used] = 0x80 + digit
                    goal[used] = _child(
                        kind - 1, first, size, True, starts, classes, uniform, node_kind, node_base, count
                    )
                    used += 1
        elif LETTER_D <= kind <= BACKSLASH or kind == ZERO_1 or kind == ZERO_2:
            if kind == LETTER_D:
                byte[0] = 0x44
            elif kind == LETTER_U:
                byte[0] = 0x75
            elif kind == BACKSLASH:
                byte[0] = 0x5C
            else:
                byte[0] = 0x30
            size = 0x400 if kind <= BACKSLASH else 0
            goal[0] = _child(
                kind - 1, base, size, size > 0, starts, classes, uniform, node_kind, node_base, count
            )
            used = 1
            if kind == LETTER_D:
                byte[1] = 0x64
                goal[1] = goal[0]
                used = 2
        else:
            shift = 4
            child = kind - 1
            first_digit, last_digit = 0, 15
            if kind == HEX_1 or kind == CONTROL_1:
                shift = 0
            elif kind == LOW_3:
                shift, first_digit = 8, 12
            elif kind == HIGH_1:
                shift = 10
            elif kind == HIGH_2:
                shift = 14
            elif kind == HEX_3:
                shift, child = 8, HEX_2
            elif kind == HEX_4:
                shift = 12
            elif kind == CONTROL_2:
                last_digit = 1
            for digit in range(16):
                digit_goal[digit] = 0
            for digit in range(first_digit, last_digit + 1):
                first = base + (digit << shift if kind != LOW_3 else (digit - 12) << shift)
                size = 1 << shift
                k = child
                is_whole = kind != CONTROL_2 and not (kind == HEX_4 and digit == 13)
                if kind == HEX_3 and 0xD800 <= first < 0xE000:
                    if first >= 0xDC00:
                        continue  # a low surrogate never comes first
                    k, first, size = HIGH_2, 0x10000 + ((first - 0xD800) << 10), 0x40000
                if kind == CONTROL_1 and (8 <= first <= 13 and first != 11):
                    continue  # it has a short escape
                digit_goal[digit] = _child(
                    k, first, size, is_whole, starts, classes, uniform, node_kind, node_base, count
                )
            for digit in range(22):
                byte[used] = 0x30 + digit if digit < 10 else (0x41 if digit < 16 else 0x5B) + digit - 10
                goal[used] = digit_goal[digit if digit < 16 else digit - 6]
                used += 1
        edge_start[node] = num_edges
        for i in range(used):
            if goal[i] == 0:
                continue
            if (
                num_edges > edge_start[node]
                and high[num_edges - 1] == byte[i] - 1
                and target[num_edges - 1] == goal[i]
            ):
                high[num_edges - 1] = byte[i]
            else:
                low[num_edges] = byte[i]
                high[num_edges] = byte[i]
                target[num_edges] = goal[i]
                num_edges += 1
        node += 1
    edge_start[node] = num_edges

    order = np.empty(node, np.int32)
    at = 0
    for kind in range(NUM_KINDS):
        for n in range(node):
            if node_kind[n] == kind:
                order[at] = n
                at += 1
    return order, edge_start[: node + 1], low[:num_edges], high[:num_edges], target[:num_edges]
