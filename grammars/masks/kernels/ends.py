"""ends: where every token of a trie leads to, as few points that tokens share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.masks.kernels.advance import advance, is_complete, note_missing
from grammars.masks.kernels.lean import lean_helper, lean_kernel
from grammars.masks.kernels.machine import (
    DOOR,
    NO_FRAME,
    get,
    machine_of,
    point_above,
    put,
)
from grammars.masks.kernels.step import (
    COUNTED,
    IS_COMPLETE,
    IS_FRESH,
    LEXER,
    NUM_DROPPED,
    NUM_PUSHED,
    PUSHED,
    STATE,
)
from grammars.masks.trie import DEPTH_SHIFT, FIRST_TOKEN, PLACE, SUBTREE_END, SYMBOL_MASK
from grammars.pushdown.columns import IS_DOOR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.kernels.machine import (
        Arrays,
        Int,
        Ints,
        Machine,
        Point,
        Tables,
        Tokens,
    )

HASH: Final = 8
NUM_COLUMNS: Final = 9
"""Columns of `points` after those of `step`."""

_FACTOR: Final = np.int64(0x9E3779B97F4A7C1)


@lean_kernel
def ends(
    tokens: Tokens,
    state: int,
    lexer: int,
    counted: int,
    is_fresh: bool,
    halts: bool,
    window: Ints,
    tables: Tables,
    end_of_token: NDArray[np.int32],
    points: Ints,
    pushes: Ints,
    slots: NDArray[np.int32],
    work: Arrays,
) -> int:
    """Where every token of a trie leads to.

    Args:
        tokens: the `Trie` of the tokens.
        state: this and the next three are the starting point, see `walk` and `Point`.
        lexer: see there.
        counted: see there.
        is_fresh: see there.
        halts: whether doors are noted, see `walk`.
        window: see there.
        tables: `TableArrays`.
        end_of_token: int32, (padded_size,), zeros; set to the number of each token's point, from 1.
        points: int64, (capacity, NUM_COLUMNS): the distinct points, row 0 unused: the columns of
            `step`, where the states of the pushed frames begin in `pushes`, a hash.
        pushes: int64, flat; states of pushed frames, the nearest to the top first.
        slots: int32, zeros, a power of two and more than twice as many as points: numbers by hash.
        work: a `Workspace`.

    Returns:
        How many rows of `points` are used; -1 if they or `pushes` are too few.
    """
    nodes, token_ids, _ = tokens
    machine = machine_of(tables, work, window)
    path = machine.work.path
    put(path, np.int64(0), point_above(window, state, lexer, counted, is_fresh))
    num_points = np.int64(1)
    num_pushes: Int = np.int64(0)
    node, end = np.int64(1), np.int64(nodes[0, SUBTREE_END])
    while node < end:
        place = np.int64(nodes[node, PLACE])
        level, value = place >> DEPTH_SHIFT, place & SYMBOL_MASK
        point = advance(value, get(path, level - 1), machine)
        if point.state == 0:
            node = np.int64(nodes[node, SUBTREE_END])
            continue
        put(path, level, point)
        if nodes[node, FIRST_TOKEN] < nodes[node + 1, FIRST_TOKEN]:
            code = _hash_point(point, machine)
            slot = _find_slot(code, point, machine, points, pushes, slots)
            if slots[slot] == 0:
                past = _add_point(point, code, machine, points, num_points, pushes, num_pushes)
                if past < 0:
                    return -1
                slots[slot] = num_points
                num_points += 1
                num_pushes = past
            for i in range(nodes[node, FIRST_TOKEN], nodes[node + 1, FIRST_TOKEN]):
                end_of_token[token_ids[i]] = slots[slot]
        if halts and machine.tables.lexers[point.lexer, IS_DOOR] != 0:
            note_missing(DOOR, node, np.int64(0), machine.work)
            node = np.int64(nodes[node, SUBTREE_END])
        else:
            node += 1
    return int(num_points)


@lean_helper
def _hash_point(point: Point, machine: Machine) -> Int:
    arena = machine.work.arena
    code = np.int64(point.state)
    code = (code ^ point.lexer) * _FACTOR
    code = (code ^ (code >> 29) ^ point.counted) * _FACTOR
    code = (code ^ (code >> 29) ^ np.int64(point.is_fresh)) * _FACTOR
    frame = point.frame
    while frame >= machine.num_window:
        code = (code ^ (code >> 29) ^ arena[frame, 0]) * _FACTOR
        frame = int(arena[frame, 1])
    code = (code ^ (code >> 29) ^ frame) * _FACTOR
    return code ^ (code >> 31)


@lean_helper
def _find_slot(
    code: Int,
    point: Point,
    machine: Machine,
    points: Ints,
    pushes: Ints,
    slots: NDArray[np.int32],
) -> Int:
    """The slot of a point with this hash: its own, or the free one where it belongs."""
    slot = code & (len(slots) - 1)
    while slots[slot] != 0:
        found = slots[slot]
        if points[found, HASH] == code and _is_point(points, found, pushes, point, machine):
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@lean_helper
def _is_point(points: Ints, row: Int, pushes: Ints, point: Point, machine: Machine) -> bool:
    """Whether a row of `points` is a point."""
    if (
        points[row, STATE] != point.state
        or points[row, LEXER] != point.lexer
        or points[row, COUNTED] != point.counted
        or points[row, IS_FRESH] != point.is_fresh
    ):
        return False
    arena = machine.work.arena
    frame = point.frame
    first = points[row, PUSHED]
    for i in range(first, first + points[row, NUM_PUSHED]):
        if frame < machine.num_window or arena[frame, 0] != pushes[i]:
            return False
        frame = int(arena[frame, 1])
    num_dropped = machine.num_window if frame == NO_FRAME else frame
    return bool(num_dropped == points[row, NUM_DROPPED])


@lean_helper
def _add_point(
    point: Point,
    code: Int,
    machine: Machine,
    points: Ints,
    row: Int,
    pushes: Ints,
    first: Int,
) -> Int:
    """Write a point into a row, and its pushed frames from `first` on.

    Returns:
        Where the pushes end; -1 where there is no room.
    """
    arena = machine.work.arena
    past = first
    frame = point.frame
    while frame >= machine.num_window:
        if past == len(pushes):
            return np.int64(-1)
        pushes[past] = arena[frame, 0]
        past += 1
        frame = int(arena[frame, 1])
    if row == len(points):
        return np.int64(-1)
    points[row, STATE] = point.state
    points[row, LEXER] = point.lexer
    points[row, COUNTED] = point.counted
    points[row, IS_FRESH] = point.is_fresh
    points[row, IS_COMPLETE] = is_complete(point, machine)
    points[row, NUM_DROPPED] = machine.num_window if frame == NO_FRAME else frame
    points[row, NUM_PUSHED] = past - first
    points[row, PUSHED] = first
    points[row, HASH] = code
    return past
