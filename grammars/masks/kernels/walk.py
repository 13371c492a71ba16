"""walk: the mask of the tokens of a trie that can be read from a point of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.masks.kernels.advance import advance, fire, is_seen, next_lexer, note_missing
from grammars.masks.kernels.lean import lean_helper, lean_kernel
from grammars.masks.kernels.machine import (
    DOOR,
    NUM_FIRED,
    NUM_WALKED,
    POINT_WIDTH,
    get,
    machine_of,
    point_above,
    put,
)
from grammars.masks.trie import (
    CHILDREN,
    DEPTH_SHIFT,
    FIRST_TOKEN,
    PLACE,
    SUBTREE_END,
    SYMBOL_MASK,
)
from grammars.pushdown.columns import IS_BOUNDARY, IS_DOOR, STEADY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.kernels.machine import (
        Arrays,
        Int,
        Ints,
        Machine,
        Point,
        Symbols,
        Tables,
        Tokens,
    )

NO_LABEL_FIRST: Final = 0
NO_CHILD: Final = -1

_BESIDE: Final = POINT_WIDTH
_ENTRY: Final = POINT_WIDTH + 1
_LIMIT: Final = POINT_WIDTH + 2
"""Columns of `Workspace.path` after those of a point."""


@lean_kernel
def walk(
    tokens: Tokens,
    groups: Ints,
    first_child: int,
    limit: int,
    num_counted: Symbols,
    fewest: int,
    most: int,
    label: int,
    beside: int,
    halts: bool,
    state: int,
    lexer: int,
    counted: int,
    window: Ints,
    tables: Tables,
    row: NDArray[np.uint32],
    work: Arrays,
) -> None:
    """Set in `row` the bit of every token of a trie that can be read.

    Args:
        tokens: the `Trie` of the tokens.
        groups: see `Subtrees`; subtrees that a lexer state reads without leaving it are not walked.
            Empty for the plain reference, which walks them.
        first_child: the row of its children with the first child of the root that is looked at;
            NO_CHILD for none.
        limit: the subtree end of the last one.
        num_counted: uint16, (num_tokens,), or empty; tokens whose number is not in fewest..most are
            left out.
        fewest: see there.
        most: see there.
        label: fires before anything is read; NO_LABEL_FIRST for none.
        beside: a lexer state for which the row is right already, or DEAD for none. Where the walk
            comes to the same state as from there, the row is left as it is.
        halts: whether doors (`LexerColumn.IS_DOOR`) are noted, and what lies behind them left out.
        state: the structural state on top of the stack.
        lexer: the lexer state; not looked at when a label fires first.
        counted: characters counted so far; likewise.
        window: int64; the states below the top, the nearest first; may end before the stack does.
        tables: `TableArrays`.
        row: the bitmask; bits are added, and with `beside` also taken away.
        work: a `Workspace`.
    """
    nodes, token_ids, children = tokens
    machine = machine_of(tables, work, window)
    path, met = machine.work.path, machine.work.met
    start = point_above(window, state, lexer, counted, False)
    if label != NO_LABEL_FIRST:
        start = fire(label, start, machine)
        if start.state == 0:
            return
    put(path, np.int64(0), start)
    path[0, _BESIDE] = beside
    if beside == 0:
        for i in range(nodes[0, FIRST_TOKEN], nodes[1, FIRST_TOKEN]):
            if _is_counted(i, num_counted, fewest, most):
                _set_bit(row, token_ids[i], True)
    # Children are taken from lists as long as nodes have these, `listed` is their level; below, the
    # nodes from `node` to before `end` are walked in preorder.
    listed = np.int64(1)
    path[1, _ENTRY], path[1, _LIMIT] = first_child, limit
    node = end = np.int64(0)
    while True:
        is_listed = node == end
        if is_listed:
            while listed > 0 and path[listed, _ENTRY] < 0:
                listed -= 1
            if listed == 0:
                return
            entry = path[listed, _ENTRY]
            level, value = listed, np.int64(children[entry, 0])
            node, after = np.int64(children[entry, 1]), np.int64(children[entry, 2])
            path[listed, _ENTRY] = NO_CHILD if after == path[listed, _LIMIT] else entry + 1
            end = after
        else:
            place = np.int64(nodes[node, PLACE])
            level, value = place >> DEPTH_SHIFT, place & SYMBOL_MASK
            after = np.int64(nodes[node, SUBTREE_END])
        met[NUM_WALKED] += 1
        before = get(path, level - 1)
        known = path[level - 1, _BESIDE]
        if known == 0 and _is_steady(node, groups, before, machine):
            for i in range(nodes[node, FIRST_TOKEN], nodes[after, FIRST_TOKEN]):
                if _is_counted(i, num_counted, fewest, most):
                    _set_bit(row, token_ids[i], True)
            node = after
            continue
        num_fired = met[NUM_FIRED]
        point = advance(value, before, machine)
        is_door = halts and point.state != 0 and machine.tables.lexers[point.lexer, IS_DOOR] != 0
        if known != 0:
            known = _next_beside(value, known, before.lexer, machine)
            if known != 0 and known == point.lexer and met[NUM_FIRED] == num_fired:
                node = after
                continue
            last = node + 1 if point.state != 0 and not is_door else after
            for i in range(nodes[node, FIRST_TOKEN], nodes[last, FIRST_TOKEN]):
                _set_bit(row, token_ids[i], False)
        if point.state == 0:
            node = after
            continue
        put(path, level, point)
        path[level, _BESIDE] = known
        for i in range(nodes[node, FIRST_TOKEN], nodes[node + 1, FIRST_TOKEN]):
            if _is_counted(i, num_counted, fewest, most):
                _set_bit(row, token_ids[i], True)
        if is_door:
            note_missing(DOOR, node, np.int64(0), machine.work)
            node = after
            continue
        if is_listed and nodes[node, CHILDREN] != 0:
            listed = level + 1
            path[listed, _ENTRY], path[listed, _LIMIT] = nodes[node, CHILDREN], after
            node = end
        else:
            node += 1


@lean_helper
def _is_steady(node: Int, groups: Ints, point: Point, machine: Machine) -> bool:
    """Whether all characters of a subtree lead from a point back to it."""
    tables = machine.tables
    steady = tables.lexers[point.lexer, STEADY]
    if steady == 0 or len(groups) == 0 or groups[node] & ~steady != 0:
        return False
    return is_seen(point.lexer, point.state, tables)


@lean_helper
def _is_counted(index: Int, num_counted: Symbols, fewest: int, most: int) -> bool:
    return len(num_counted) == 0 or fewest <= num_counted[index] <= most


@lean_helper
def _set_bit(row: NDArray[np.uint32], token_id: Int, is_set: bool) -> None:
    bit = np.uint32(1) << np.uint32(token_id & 31)
    if is_set:
        row[token_id >> 5] |= bit
    else:
        row[token_id >> 5] &= ~bit


@lean_helper
def _next_beside(symbol: Int, beside: Int, lexer: int, machine: Machine) -> int:
    """The lexer state after `beside` if characters are counted as from `lexer`; else DEAD."""
    lexers = machine.tables.lexers
    if lexers[beside, IS_BOUNDARY] != lexers[lexer, IS_BOUNDARY]:
        return 0
    return next_lexer(symbol, beside, machine.tables)
