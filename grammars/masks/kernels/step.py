"""step: what reading a string of symbols does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.masks.kernels.advance import advance, is_complete
from grammars.masks.kernels.lean import lean_kernel
from grammars.masks.kernels.machine import (
    FIRED_AFTER,
    FIRED_STATE,
    NO_FRAME,
    NUM_FIRED,
    machine_of,
    point_above,
)

if TYPE_CHECKING:
    from grammars.masks.kernels.machine import Arrays, Ints, Symbols, Tables

STATE: Final = 0
LEXER: Final = 1
COUNTED: Final = 2
IS_FRESH: Final = 3
IS_COMPLETE: Final = 4
NUM_DROPPED: Final = 5
NUM_PUSHED: Final = 6
PUSHED: Final = 7
"""Columns of a point that is told to Python: see `step`; in `ends` the last begins the pushes."""


@lean_kernel
def step(
    string: Symbols,
    state: int,
    lexer: int,
    counted: int,
    is_fresh: bool,
    window: Ints,
    tables: Tables,
    result: Ints,
    work: Arrays,
) -> None:
    """Read a string of symbols.

    Args:
        string: the symbols; none at all asks whether the text is complete.
        state: this and the next four are the starting point, see `walk` and `Point`.
        lexer: see there.
        counted: see there.
        is_fresh: see there.
        window: see there.
        tables: `TableArrays`.
        result: int64, (PUSHED + 2 * len(string),): the point after it (STATE is 0 if refused) and
            whether the text is complete there; the number of window frames that are gone; the
            number of frames put on those that are left, and their states, the deepest first.
            What fired on the way is in `fired`, ended by a row whose state is 0.
        work: a `Workspace`.
    """
    machine = machine_of(tables, work, window)
    arena, fired, met = machine.work.arena, machine.work.fired, machine.work.met
    point = point_above(window, state, lexer, counted, is_fresh)
    for index in range(len(string)):
        num_before = met[NUM_FIRED]
        point = advance(np.int64(string[index]), point, machine)
        if point.state == 0:
            break
        num_fired = met[NUM_FIRED]
        for i in range(num_before, num_fired):  # one that fires before the symbol, one after it
            is_after = point.is_fresh and i == num_fired - 1
            fired[i, FIRED_AFTER] = index + is_after
    result[STATE], result[LEXER], result[COUNTED] = point.state, point.lexer, point.counted
    if point.state == 0:
        return
    result[IS_FRESH] = point.is_fresh
    num_fired = met[NUM_FIRED]
    result[IS_COMPLETE] = is_complete(point, machine)
    fired[num_fired, FIRED_STATE] = 0
    num_pushed = 0
    frame = point.frame
    while frame >= machine.num_window:
        num_pushed += 1
        frame = int(arena[frame, 1])
    result[NUM_PUSHED] = num_pushed
    result[NUM_DROPPED] = machine.num_window if frame == NO_FRAME else frame
    frame = point.frame
    for i in range(num_pushed - 1, -1, -1):
        result[PUSHED + i] = arena[frame, 0]
        frame = int(arena[frame, 1])
