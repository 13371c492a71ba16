"""The walk: which tokens of a trie can be read from a point of the text, what reading one does.

Numba kernels over `TableArrays`; `advance` is the one place where the automaton moves, `reference`
says the same in plain Python. What a kernel does not know it notes and treats as dead: entries not
expanded yet, frames below the window. The caller supplies them and calls again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from grammars.masks.kernel import lean_helper, lean_kernel
from grammars.masks.trie import (
    CHILDREN,
    DEPTH_SHIFT,
    FIRST_TOKEN,
    PLACE,
    SUBTREE_END,
    SYMBOL_MASK,
)
from grammars.pushdown.columns import (
    ACTIONS,
    CLASSES,
    COUNT_MAX,
    COUNT_MIN,
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
from grammars.pushdown.layout import (
    UNBOUNDED,
    TableArrays,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ints: TypeAlias = "NDArray[np.int64]"
Symbols: TypeAlias = "NDArray[np.uint16]"
Int: TypeAlias = "int | np.int64"
"""Given as np.int64: a kernel is compiled anew for each type of integer, and for each literal."""


NO_FRAME: Final = -1
NO_LABEL_FIRST: Final = 0
NO_CHILD: Final = -1


class Workspace(NamedTuple):
    """Arrays that a kernel call writes to; the kernels themselves make none, see `lean_kernel`.

    Attributes:
        arena: int64, (size of the window + 2 * symbols to read + 1, 2): the stacks, see `Machine`.
        path: int64, (depth of the trie + 2, 8): the points on the way to a node of `walk`, and what
            else it has to know there.
        fired: int64, (capacity, 3): the labels that fired, as far as there is room: by `step` the
            symbols read before, frames that were pushed (-1: popped), the structural state after.
        missing: int64, (capacity, 3): what the kernel did not know: MISSING_ACTION, state, label;
            or MISSING_RESUME, state, outcome id.
        met: int64, (4,), made zero by the caller: how many entries are missing (also those that
            found no room); how many frames of the window were looked at; 1 if one below it was
            asked for; how many labels have fired.
    """

    arena: Ints
    path: Ints
    fired: Ints
    missing: Ints
    met: Ints


MISSING_ACTION: Final = np.int64(0)
MISSING_RESUME: Final = np.int64(1)
NUM_MISSING: Final = 0
NUM_FRAMES_SEEN: Final = 1
IS_BELOW_WINDOW: Final = 2
NUM_FIRED: Final = 3

FIRED_AFTER: Final = 0
FIRED_CHANGE: Final = 1
FIRED_STATE: Final = 2
"""Columns of `Workspace.fired`."""


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
def _refused() -> Point:
    return Point(0, 0, 0, 0, 0, False)


@lean_helper
def _note_missing(kind: Int, state: int, entry: int, work: Workspace) -> None:
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
    _note_missing(MISSING_RESUME, state, outcome, machine.work)
    return 0


@lean_helper
def _fire(label: int, point: Point, machine: Machine) -> Point:
    """The action of a label: the fresh point after it, or no point."""
    states, actions, arena = machine.tables.states, machine.tables.actions, machine.work.arena
    if label > states[point.state, NUM_LABELS]:
        return _refused()
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
            return _refused()
        if frame < machine.num_window:
            seen = machine.work.met[NUM_FRAMES_SEEN]
            machine.work.met[NUM_FRAMES_SEEN] = max(seen, frame + 1)
        target = _resume(int(arena[frame, 0]), target, machine)
        frame = int(arena[frame, 1])
        change = -1
    elif kind != GOTO:
        if kind == UNEXPANDED:
            _note_missing(MISSING_ACTION, point.state, label, machine.work)
        return _refused()
    if target == 0:
        return _refused()
    _note_fired(change, target, machine.work)
    return Point(target, int(states[target, LEXER_START]), 0, frame, used, True)


@lean_helper
def advance(symbol: Int, point: Point, machine: Machine) -> Point:
    """Read one symbol.

    A lexer start never accepts, so a label fires at most once before the symbol and once after it.
    """
    tables = machine.tables
    for _ in range(2):
        lexer = point.lexer
        following = 0
        if symbol < tables.lexers[lexer, NUM_SYMBOLS]:
            column = tables.classes[tables.lexers[lexer, CLASSES] + symbol]
            following = int(tables.transitions[tables.lexers[lexer, TRANSITIONS] + column])
        if tables.lexers[following, REACH] & tables.states[point.state, WINDOW] == 0:
            label = int(tables.lexers[lexer, LABEL])
            if label == 0:
                return _refused()
            point = _fire(label, point, machine)
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
                    return _refused()
            elif most == UNBOUNDED:
                counted = min(counted + 1, fewest)  # counting on would make no difference
            else:
                counted += 1
        if counted + tables.lexers[following, OWED] > most:
            return _refused()
        if is_closed:
            return _fire(int(tables.lexers[following, LABEL]), point, machine)
        return Point(point.state, following, counted, point.frame, point.used, False)
    return _refused()


@lean_helper
def _is_complete(point: Point, machine: Machine) -> bool:
    """Whether the text may end here: in a fresh final state, at once or after the lexer's label."""
    if not point.is_fresh:
        label = int(machine.tables.lexers[point.lexer, LABEL])
        if label == 0:
            return False
        point = _fire(label, point, machine)
        if point.state == 0:
            return False
    return bool(machine.tables.states[point.state, IS_FINAL])


@lean_helper
def _machine(
    window: Ints,
    lexers: Ints,
    transitions: NDArray[np.int32],
    classes: Symbols,
    states: Ints,
    actions: Ints,
    resumes: Ints,
    arena: Ints,
    path: Ints,
    fired: Ints,
    missing: Ints,
    met: Ints,
) -> Machine:
    tables = TableArrays(lexers, transitions, classes, states, actions, resumes)
    work = Workspace(arena, path, fired, missing, met)
    num_window = len(window)
    for i in range(num_window):
        work.arena[i, 0] = window[i]
        work.arena[i, 1] = i + 1 if i + 1 < num_window else NO_FRAME
    return Machine(tables, work, num_window)


@lean_helper
def _start(state: int, lexer: int, counted: int, is_fresh: bool, window: Ints) -> Point:
    frame = 0 if len(window) > 0 else NO_FRAME
    return Point(state, lexer, counted, frame, len(window), is_fresh)


@lean_kernel
def walk(
    nodes: NDArray[np.int32],
    token_ids: NDArray[np.int32],
    children: NDArray[np.int32],
    first_child: int,
    limit: int,
    num_counted: Symbols,
    fewest: int,
    most: int,
    label: int,
    beside: int,
    state: int,
    lexer: int,
    counted: int,
    window: Ints,
    lexers: Ints,
    transitions: NDArray[np.int32],
    classes: Symbols,
    states: Ints,
    actions: Ints,
    resumes: Ints,
    row: NDArray[np.uint32],
    arena: Ints,
    path: Ints,
    fired: Ints,
    missing: Ints,
    met: Ints,
) -> None:
    """Set in `row` the bit of every token of a trie that can be read.

    Args:
        nodes: this and the next two are the `Trie` of the tokens.
        token_ids: see there.
        children: see there.
        first_child: the row of `children` with the first child of the root that is looked at;
            NO_CHILD for none.
        limit: the subtree end of the last one.
        num_counted: uint16, (num_tokens,), or empty; tokens whose number is not in fewest..most are
            left out.
        fewest: see there.
        most: see there.
        label: fires before anything is read; NO_LABEL_FIRST for none.
        beside: a lexer state for which the row is right already, or DEAD for none. Where the walk
            comes to the same state as from there, the row is left as it is.
        state: the structural state on top of the stack.
        lexer: the lexer state; not looked at when a label fires first.
        counted: characters counted so far; likewise.
        window: int64; the states below the top, the nearest first; may end before the stack does.
        lexers: this and the next five are `TableArrays`.
        transitions: see there.
        classes: see there.
        states: see there.
        actions: see there.
        resumes: see there.
        row: the bitmask; bits are added, and with `beside` also taken away.
        arena: this and the next four are a `Workspace`.
        path: see there.
        fired: see there.
        missing: see there.
        met: see there.
    """
    machine = _machine(
        window,
        lexers,
        transitions,
        classes,
        states,
        actions,
        resumes,
        arena,
        path,
        fired,
        missing,
        met,
    )
    start = _start(state, lexer, counted, False, window)
    if label != NO_LABEL_FIRST:
        start = _fire(label, start, machine)
        if start.state == 0:
            return
    _put(path, np.int64(0), start)
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
        before = _get(path, level - 1)
        num_fired = met[NUM_FIRED]
        point = advance(value, before, machine)
        known = path[level - 1, _BESIDE]
        if known != 0:
            known = _next_beside(value, known, before.lexer, machine)
            if known != 0 and known == point.lexer and met[NUM_FIRED] == num_fired:
                node = after
                continue
            last = node + 1 if point.state != 0 else after
            for i in range(nodes[node, FIRST_TOKEN], nodes[last, FIRST_TOKEN]):
                _set_bit(row, token_ids[i], False)
        if point.state == 0:
            node = after
            continue
        _put(path, level, point)
        path[level, _BESIDE] = known
        for i in range(nodes[node, FIRST_TOKEN], nodes[node + 1, FIRST_TOKEN]):
            if _is_counted(i, num_counted, fewest, most):
                _set_bit(row, token_ids[i], True)
        if is_listed and nodes[node, CHILDREN] != 0:
            listed = level + 1
            path[listed, _ENTRY], path[listed, _LIMIT] = nodes[node, CHILDREN], after
            node = end
        else:
            node += 1


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
    tables = machine.tables
    if tables.lexers[beside, IS_BOUNDARY] != tables.lexers[lexer, IS_BOUNDARY]:
        return 0
    if symbol >= tables.lexers[beside, NUM_SYMBOLS]:
        return 0
    column = tables.classes[tables.lexers[beside, CLASSES] + symbol]
    return int(tables.transitions[tables.lexers[beside, TRANSITIONS] + column])


_BESIDE: Final = 5
_ENTRY: Final = 6
_LIMIT: Final = 7
"""Columns of `Workspace.path` after those of a point."""


@lean_helper
def _put(path: Ints, level: Int, point: Point) -> None:
    path[level, 0], path[level, 1], path[level, 2] = point.state, point.lexer, point.counted
    path[level, 3], path[level, 4] = point.frame, point.used


@lean_helper
def _get(path: Ints, level: Int) -> Point:
    return Point(
        int(path[level, 0]),
        int(path[level, 1]),
        int(path[level, 2]),
        int(path[level, 3]),
        int(path[level, 4]),
        False,
    )


STATE: Final = 0
LEXER: Final = 1
COUNTED: Final = 2
IS_FRESH: Final = 3
IS_COMPLETE: Final = 4
NUM_DROPPED: Final = 5
NUM_PUSHED: Final = 6
PUSHED: Final = 7
"""Columns of a point that is told to Python: see `step`; in `ends` the last begins the pushes."""

HASH: Final = 8
NUM_COLUMNS: Final = 9


@lean_helper
def _hash_point(point: Point, num_window: int, arena: Ints) -> Int:
    code = np.int64(point.state)
    code = (code ^ point.lexer) * np.int64(0x9E3779B97F4A7C1)
    code = (code ^ (code >> 29) ^ point.counted) * np.int64(0x9E3779B97F4A7C1)
    code = (code ^ (code >> 29) ^ np.int64(point.is_fresh)) * np.int64(0x9E3779B97F4A7C1)
    frame = point.frame
    while frame >= num_window:
        code = (code ^ (code >> 29) ^ arena[frame, 0]) * np.int64(0x9E3779B97F4A7C1)
        frame = int(arena[frame, 1])
    code = (code ^ (code >> 29) ^ frame) * np.int64(0x9E3779B97F4A7C1)
    return code ^ (code >> 31)


@lean_helper
def _is_point(row: Ints, pushes: Ints, point: Point, num_window: int, arena: Ints) -> bool:
    """Whether a row of `ends` is a point."""
    if (
        row[STATE] != point.state
        or row[LEXER] != point.lexer
        or row[COUNTED] != point.counted
        or row[IS_FRESH] != point.is_fresh
    ):
        return False
    frame = point.frame
    for i in range(row[PUSHED], row[PUSHED] + row[NUM_PUSHED]):
        if frame < num_window or arena[frame, 0] != pushes[i]:
            return False
        frame = int(arena[frame, 1])
    return bool((num_window if frame == NO_FRAME else frame) == row[NUM_DROPPED])


@lean_kernel
def ends(
    nodes: NDArray[np.int32],
    token_ids: NDArray[np.int32],
    state: int,
    lexer: int,
    counted: int,
    is_fresh: bool,
    window: Ints,
    lexers: Ints,
    transitions: NDArray[np.int32],
    classes: Symbols,
    states: Ints,
    actions: Ints,
    resumes: Ints,
    end_of_token: NDArray[np.int32],
    points: Ints,
    pushes: Ints,
    slots: NDArray[np.int32],
    arena: Ints,
    path: Ints,
    fired: Ints,
    missing: Ints,
    met: Ints,
) -> int:
    """Where every token of a trie leads to.

    Args:
        nodes: this and the next one are of the `Trie` of the tokens.
        token_ids: see there.
        state: this and the next four are the starting point, see `walk` and `Point`.
        lexer: see there.
        counted: see there.
        is_fresh: see there.
        window: see there.
        lexers: this and the next five are `TableArrays`.
        transitions: see there.
        classes: see there.
        states: see there.
        actions: see there.
        resumes: see there.
        end_of_token: int32, (padded_size,), zeros; set to the number of each token's point, from 1.
        points: int64, (capacity, NUM_COLUMNS): the distinct points, row 0 unused: the columns of
            `step`, where the states of the pushed frames begin in `pushes`, a hash.
        pushes: int64, flat; states of pushed frames, the nearest to the top first.
        slots: int32, zeros, a power of two and more than twice as many as points: numbers by hash.
        arena: this and the next four are a `Workspace`.
        path: see there.
        fired: see there.
        missing: see there.
        met: see there.

    Returns:
        How many rows of `points` are used; -1 if they or `pushes` are too few.
    """
    machine = _machine(
        window,
        lexers,
        transitions,
        classes,
        states,
        actions,
        resumes,
        arena,
        path,
        fired,
        missing,
        met,
    )
    _put(path, np.int64(0), _start(state, lexer, counted, is_fresh, window))
    num_points = 1
    num_pushes = 0
    node, end = np.int64(1), np.int64(nodes[0, SUBTREE_END])
    while node < end:
        place = np.int64(nodes[node, PLACE])
        level, value = place >> DEPTH_SHIFT, place & SYMBOL_MASK
        point = advance(value, _get(path, level - 1), machine)
        if point.state == 0:
            node = np.int64(nodes[node, SUBTREE_END])
            continue
        _put(path, level, point)
        if nodes[node, FIRST_TOKEN] < nodes[node + 1, FIRST_TOKEN]:
            code = _hash_point(point, machine.num_window, arena)
            slot = code & (len(slots) - 1)
            found = np.int64(slots[slot])
            while found != 0 and not (
                points[found, HASH] == code
                and _is_point(points[found], pushes, point, machine.num_window, arena)
            ):
                slot = (slot + 1) & (len(slots) - 1)
                found = np.int64(slots[slot])
            if found == 0:
                num_pushed = 0
                frame = point.frame
                while frame >= machine.num_window:
                    if num_pushes + num_pushed == len(pushes):
                        return -1
                    pushes[num_pushes + num_pushed] = arena[frame, 0]
                    num_pushed += 1
                    frame = int(arena[frame, 1])
                if num_points == len(points):
                    return -1
                found = np.int64(num_points)
                points[found, STATE] = point.state
                points[found, LEXER] = point.lexer
                points[found, COUNTED] = point.counted
                points[found, IS_FRESH] = point.is_fresh
                points[found, IS_COMPLETE] = _is_complete(point, machine)
                points[found, NUM_DROPPED] = machine.num_window if frame == NO_FRAME else frame
                points[found, NUM_PUSHED] = num_pushed
                points[found, PUSHED] = num_pushes
                points[found, HASH] = code
                slots[slot] = found
                num_points += 1
                num_pushes += num_pushed
            for i in range(nodes[node, FIRST_TOKEN], nodes[node + 1, FIRST_TOKEN]):
                end_of_token[token_ids[i]] = found
        node += 1
    return num_points


@lean_kernel
def step(
    string: Symbols,
    state: int,
    lexer: int,
    counted: int,
    is_fresh: bool,
    window: Ints,
    lexers: Ints,
    transitions: NDArray[np.int32],
    classes: Symbols,
    states: Ints,
    actions: Ints,
    resumes: Ints,
    result: Ints,
    arena: Ints,
    path: Ints,
    fired: Ints,
    missing: Ints,
    met: Ints,
) -> None:
    """Read a string of symbols.

    Args:
        string: the symbols; none at all asks whether the text is complete.
        state: this and the next four are the starting point, see `walk` and `Point`.
        lexer: see there.
        counted: see there.
        is_fresh: see there.
        window: see there.
        lexers: this and the next five are `TableArrays`.
        transitions: see there.
        classes: see there.
        states: see there.
        actions: see there.
        resumes: see there.
        result: int64, (PUSHED + 2 * len(string),): the point after it (STATE is 0 if refused) and
            whether the text is complete there; the number of window frames that are gone; the
            number of frames put on those that are left, and their states, the deepest first.
            What fired on the way is in `fired`, ended by a row whose state is 0.
        arena: this and the next four are a `Workspace`.
        path: see there.
        fired: see there.
        missing: see there.
        met: see there.
    """
    machine = _machine(
        window,
        lexers,
        transitions,
        classes,
        states,
        actions,
        resumes,
        arena,
        path,
        fired,
        missing,
        met,
    )
    point = _start(state, lexer, counted, is_fresh, window)
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
    result[IS_COMPLETE] = _is_complete(point, machine)
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


@lean_kernel
def force(
    state: int,
    lexer: int,
    counted: int,
    is_fresh: bool,
    window: Ints,
    lexers: Ints,
    transitions: NDArray[np.int32],
    classes: Symbols,
    states: Ints,
    actions: Ints,
    resumes: Ints,
    found: Symbols,
    is_live: NDArray[np.bool_],
    arena: Ints,
    path: Ints,
    fired: Ints,
    missing: Ints,
    met: Ints,
) -> int:
    """Go on for as long as exactly one symbol can come next and the text may not end.

    Args:
        state: this and the next four are the starting point, see `walk` and `Point`.
        lexer: see there.
        counted: see there.
        is_fresh: see there.
        window: see there.
        lexers: this and the next five are `TableArrays`.
        transitions: see there.
        classes: see there.
        states: see there.
        actions: see there.
        resumes: see there.
        found: uint16, (limit,); set to the symbols that are followed.
        is_live: bool, (num_symbols,); set to the symbols that may come after them.
        arena: this and the next four are a `Workspace`.
        path: see there.
        fired: see there.
        missing: see there.
        met: see there.

    Returns:
        How many symbols were found, at most `limit`.
    """
    machine = _machine(
        window,
        lexers,
        transitions,
        classes,
        states,
        actions,
        resumes,
        arena,
        path,
        fired,
        missing,
        met,
    )
    point = _start(state, lexer, counted, is_fresh, window)
    num_found = 0
    while True:
        num_live = 0
        for symbol in range(len(is_live)):
            is_live[symbol] = advance(symbol, point, machine).state != 0
            num_live += is_live[symbol]
        is_open = num_live == 1 and not _is_complete(point, machine)
        if not is_open or num_found == len(found) or met[NUM_MISSING] > 0:
            return num_found
        only = 0
        while not is_live[only]:
            only += 1
        found[num_found] = only
        num_found += 1
        point = advance(only, point, machine)
