"""advance: one symbol is read; the one place of the kernels in which the automaton moves.

What is not known is noted and treated as dead: entries that are not expanded yet, frames below the
window. The caller supplies them and calls the kernel again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.masks.kernels.lean import lean_helper
from grammars.masks.kernels.machine import (
    FIRED_CHANGE,
    FIRED_STATE,
    IS_BELOW_WINDOW,
    MISSING_ACTION,
    MISSING_RESUME,
    NO_FRAME,
    NUM_FIRED,
    NUM_FRAMES_SEEN,
    NUM_MISSING,
    Point,
    refused,
)
from grammars.pushdown.columns import (
    ACTIONS,
    CLASSES,
    COUNT_MAX,
    COUNT_MIN,
    FAR_SET,
    FAR_SPANS,
    FULL_OUTCOME,
    GOTO,
    IS_BOUNDARY,
    IS_CLOSED,
    IS_FINAL,
    LABEL,
    LEXER_START,
    NUM_LABELS,
    NUM_SYMBOLS,
    OWED,
    POP,
    PUSH,
    REACH,
    RESUMES,
    TRANSITIONS,
    UNEXPANDED,
    WINDOW,
)
from grammars.pushdown.layout import UNBOUNDED

if TYPE_CHECKING:
    from grammars.masks.kernels.machine import Int, Machine, Workspace
    from grammars.pushdown.layout import TableArrays


@lean_helper
def note_missing(kind: Int, state: Int, entry: Int, work: Workspace) -> None:
    """Add a row to `Workspace.missing`."""
    index = work.met[NUM_MISSING]
    if index < len(work.missing):
        work.missing[index, 0] = kind
        work.missing[index, 1] = state
        work.missing[index, 2] = entry
    work.met[NUM_MISSING] = index + 1


@lean_helper
def _note_fired(change: int, target: int, work: Workspace) -> None:
    index = work.met[NUM_FIRED]
    if index < len(work.fired):
        work.fired[index, FIRED_CHANGE] = change
        work.fired[index, FIRED_STATE] = target
    work.met[NUM_FIRED] = index + 1


@lean_helper
def _resume(state: int, outcome: int, machine: Machine) -> int:
    """What `state` becomes under an outcome id; 0 where that is not known yet."""
    states, resumes = machine.tables.states, machine.tables.resumes
    if states[state, FULL_OUTCOME] == outcome:
        return state
    row = states[state, RESUMES]
    while row != 0:
        if resumes[row, 0] == outcome:
            return int(resumes[row, 1])
        row = resumes[row, 2]
    note_missing(MISSING_RESUME, state, outcome, machine.work)
    return 0


@lean_helper
def fire(label: int, point: Point, machine: Machine) -> Point:
    """The action of a label: the fresh point after it, or no point."""
    states, actions, arena = machine.tables.states, machine.tables.actions, machine.work.arena
    if label > states[point.state, NUM_LABELS]:
        return refused()
    row = states[point.state, ACTIONS] + label - 1
    kind = actions[row, 0]
    target = int(actions[row, 1])
    frame, used, change = point.frame, point.used, 0
    if kind == PUSH:
        arena[used, 0] = target
        arena[used, 1] = frame
        frame = used
        used += 1
        change = 1
        target = int(actions[row, 2])
    elif kind == POP:
        if frame == NO_FRAME:
            machine.work.met[IS_BELOW_WINDOW] = 1
            return refused()
        if frame < machine.num_window:
            seen = machine.work.met[NUM_FRAMES_SEEN]
            machine.work.met[NUM_FRAMES_SEEN] = max(seen, frame + 1)
        target = _resume(int(arena[frame, 0]), target, machine)
        frame = int(arena[frame, 1])
        change = -1
    elif kind != GOTO:
        if kind == UNEXPANDED:
            note_missing(MISSING_ACTION, point.state, label, machine.work)
        return refused()
    if target == 0:
        return refused()
    _note_fired(change, target, machine.work)
    return Point(target, int(states[target, LEXER_START]), 0, frame, used, True)


@lean_helper
def next_lexer(symbol: Int, lexer: Int, tables: TableArrays) -> int:
    """The lexer state after a symbol, or DEAD."""
    if symbol >= tables.lexers[lexer, NUM_SYMBOLS]:
        return 0
    column = tables.classes[tables.lexers[lexer, CLASSES] + symbol]
    return int(tables.transitions[tables.lexers[lexer, TRANSITIONS] + column])


@lean_helper
def is_seen(lexer: int, state: int, tables: TableArrays) -> bool:
    """Whether a lexer state can reach a label that a structural state reads."""
    if tables.lexers[lexer, REACH] & tables.states[state, WINDOW] != 0:
        return True
    word = tables.states[state, FAR_SET]
    if word == 0 or lexer == 0:
        return False
    span = tables.states[state, FAR_SPANS] + lexer
    first, last = np.int64(tables.far_spans[span, 0]), np.int64(tables.far_spans[span, 1])
    if first > last:
        return False
    end = word + (last >> 6)
    word += first >> 6
    labels = tables.far_sets[word] >> (first & 63) << (first & 63)
    while word < end:
        if labels != 0:
            return True
        word += 1
        labels = tables.far_sets[word]
    return bool(labels << (63 - (last & 63)) != 0)


@lean_helper
def advance(symbol: Int, point: Point, machine: Machine) -> Point:
    """Read one symbol.

    A lexer start never accepts, so a label fires at most once before the symbol and once after it.
    """
    tables = machine.tables
    for _ in range(2):
        lexer = point.lexer
        following = next_lexer(symbol, lexer, tables)
        if not is_seen(following, point.state, tables):
            label = int(tables.lexers[lexer, LABEL])
            if label == 0:
                return refused()
            point = fire(label, point, machine)
            if point.state == 0:
                return point
            continue
        is_closed = tables.lexers[following, IS_CLOSED] != 0
        counted = point.counted
        most = int(tables.states[point.state, COUNT_MAX])
        if tables.lexers[lexer, IS_BOUNDARY] != 0:
            fewest = int(tables.states[point.state, COUNT_MIN])
            if is_closed:
                if counted < fewest:
                    return refused()
            elif most == UNBOUNDED:
                counted = min(counted + 1, fewest)  # counting on would make no difference
            else:
                counted += 1
        if counted + tables.lexers[following, OWED] > most:
            return refused()
        if is_closed:
            return fire(int(tables.lexers[following, LABEL]), point, machine)
        return Point(point.state, following, counted, point.frame, point.used, False)
    return refused()


@lean_helper
def is_complete(point: Point, machine: Machine) -> bool:
    """Whether the text may end here: in a fresh final state, at once or after the lexer's label."""
    if not point.is_fresh:
        label = int(machine.tables.lexers[point.lexer, LABEL])
        if label == 0:
            return False
        point = fire(label, point, machine)
        if point.state == 0:
            return False
    return bool(machine.tables.states[point.state, IS_FINAL])
