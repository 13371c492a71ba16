"""Machine, Point: the automaton, the stacks and the place in the text, as the kernels see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from grammars.masks.kernels.lean import lean_helper
from grammars.pushdown.layout import TableArrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ints: TypeAlias = "NDArray[np.int64]"
Symbols: TypeAlias = "NDArray[np.uint16]"
Int: TypeAlias = "int | np.int64"
"""Given as np.int64: a kernel is compiled anew for each type of integer, and for each literal."""

Tokens: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]"
Tables: TypeAlias = (
    "tuple[Ints, NDArray[np.int32], Symbols, Ints, Ints, Ints, NDArray[np.int32], Ints]"
)
Arrays: TypeAlias = "tuple[Ints, Ints, Ints, Ints, Ints]"
"""A `Trie`, `TableArrays` and a `Workspace` as plain tuples, see `lean`."""

NO_FRAME: Final = -1


class Workspace(NamedTuple):
    """Arrays that a kernel call writes to; the kernels themselves make none, see `lean_kernel`.

    Attributes:
        arena: int64, (size of the window + 2 * symbols to read + 1, 2): the stacks, see `Machine`.
        path: int64, (depth of the trie + 2, PATH_WIDTH): the points on the way to a node of the
            trie, and what else `walk` has to know there.
        fired: int64, (capacity, 3): the labels that fired, as far as there is room: by `step` the
            symbols read before, frames that were pushed (-1: popped), the structural state after.
        missing: int64, (capacity, 3): what the kernel did not know: MISSING_ACTION, state, label;
            or MISSING_RESUME, state, outcome id. Beside these, from `walk`: DOOR, a node of the
            trie, 0; what lies behind it has not been walked.
        met: int64, (5,), made zero by the caller: how many entries are missing (also those that
            found no room); how many frames of the window were looked at; 1 if one below it was
            asked for; how many labels have fired; how many nodes were walked.
    """

    arena: Ints
    path: Ints
    fired: Ints
    missing: Ints
    met: Ints


PATH_WIDTH: Final = 8

FIRED_AFTER: Final = 0
FIRED_CHANGE: Final = 1
FIRED_STATE: Final = 2
"""Columns of `Workspace.fired`."""

MISSING_ACTION: Final = np.int64(0)
MISSING_RESUME: Final = np.int64(1)
DOOR: Final = np.int64(2)

NUM_MISSING: Final = 0
NUM_FRAMES_SEEN: Final = 1
IS_BELOW_WINDOW: Final = 2
NUM_FIRED: Final = 3
NUM_WALKED: Final = 4
"""Places of `Workspace.met`."""


class Machine(NamedTuple):
    """The automaton with the stacks of one kernel call.

    Stacks are lists linked through the arena: a row is a structural state and the frame below it.
    Frames 0..num_window-1 are those below the starting point's top, the nearest first; reading a
    symbol pushes at most two.
    """

    tables: TableArrays
    work: Workspace
    num_window: int


class Point(NamedTuple):
    """A configuration inside a kernel.

    Going back to an earlier point takes nothing but its numbers: pushes only write past `used`.

    Attributes:
        state: the structural state on top; 0 is no point at all (what was read is refused).
        lexer: the lexer state.
        counted: characters counted so far.
        frame: the nearest frame below the top, or NO_FRAME.
        used: frames of the arena that are taken.
        is_fresh: whether the lexer has read nothing yet.
    """

    state: int
    lexer: int
    counted: int
    frame: int
    used: int
    is_fresh: bool


@lean_helper
def refused() -> Point:
    """No point at all."""
    return Point(0, 0, 0, 0, 0, False)


@lean_helper
def machine_of(tables: Tables, work: Arrays, window: Ints) -> Machine:
    """The machine over the states of a window, the nearest to the top first."""
    machine = Machine(TableArrays(*tables), Workspace(*work), len(window))
    arena = machine.work.arena
    for i in range(len(window)):
        arena[i, 0] = window[i]
        arena[i, 1] = i + 1 if i + 1 < len(window) else NO_FRAME
    return machine


@lean_helper
def point_above(window: Ints, state: int, lexer: int, counted: int, is_fresh: bool) -> Point:
    """The point where a kernel begins."""
    frame = 0 if len(window) > 0 else NO_FRAME
    return Point(state, lexer, counted, frame, len(window), is_fresh)


@lean_helper
def put(path: Ints, level: Int, point: Point) -> None:
    """Remember a point, all but whether it is fresh, which `advance` need not know."""
    path[level, 0], path[level, 1], path[level, 2] = point.state, point.lexer, point.counted
    path[level, 3], path[level, 4] = point.frame, point.used


@lean_helper
def get(path: Ints, level: Int) -> Point:
    """A point that was remembered."""
    return Point(
        int(path[level, 0]),
        int(path[level, 1]),
        int(path[level, 2]),
        int(path[level, 3]),
        int(path[level, 4]),
        False,
    )


POINT_WIDTH: Final = 5
"""Columns of `Workspace.path` that a point takes."""
