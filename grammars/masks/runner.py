"""Runner: calls the kernels for one grammar, expanding what they miss until nothing is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from grammars.masks.configuration import WINDOW_SIZE
from grammars.masks.end_points import EndPoints
from grammars.masks.kernels.ends import ends
from grammars.masks.kernels.force import force
from grammars.masks.kernels.machine import (
    DOOR,
    IS_BELOW_WINDOW,
    MISSING_ACTION,
    NUM_FRAMES_SEEN,
    NUM_MISSING,
    NUM_WALKED,
    PATH_WIDTH,
    Workspace,
)
from grammars.masks.kernels.step import PUSHED, step
from grammars.masks.kernels.walk import NO_CHILD, walk
from grammars.masks.walk_part import NO_COUNTS, NO_GROUPS, Part, Walked
from grammars.pushdown.layout import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from grammars.masks.configuration import Configuration
    from grammars.masks.kernels.machine import Tables
    from grammars.masks.slice_cache import SliceView
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.masks.trie import Trie
    from grammars.pushdown.actions import Expander
    from grammars.pushdown.tables import AutomatonTables

Found = TypeVar("Found")

MAX_MISSING: Final = 256
"""Missing entries that are taken from one kernel call; those past it are found by the next."""

NODES_PER_PART: Final = 64
"""Nodes of a trie that are walked in the time of one part of `Work`."""

MAX_FORCED_SYMBOLS: Final = 256
"""How far forced text is followed at once."""

_FEW_POINTS: Final = 256
"""End points that `ends` is given room for at first; a power of two."""


class Runner:
    """All of its methods need `AutomatonTables.lock`, and may raise what the expander raises.

    Args:
        tables: of the grammar.
        expander: writes what they lack.
        tokens: of the vocabulary.
        num_symbols: bytes and control tokens.
        is_plain: whether masks are made by walks that read every token.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        expander: Expander,
        tokens: TokenSymbols,
        *,
        num_symbols: int,
        is_plain: bool,
    ) -> None:
        self._tables = tables
        self._expander = expander
        self._tokens = tokens
        groups = NO_GROUPS if is_plain else tokens.subtrees.groups
        self._whole = Part(tokens.trie, groups, halts=True)
        # Not filled: the kernels write before they read.
        self._is_live = np.empty(num_symbols, np.bool_)
        self._found = np.empty(MAX_FORCED_SYMBOLS, np.uint16)
        self._result = np.empty(PUSHED + 2 * tokens.longest, np.int64)
        self._work = Workspace(
            arena=self._new_arena(0),
            path=np.empty((tokens.longest + 2, PATH_WIDTH), np.int64),
            fired=np.empty((2 * tokens.longest + 2, 3), np.int64),
            missing=np.empty((MAX_MISSING, 3), np.int64),
            met=np.empty(5, np.int64),
        )

    @property
    def fired(self) -> NDArray[np.int64]:
        """What fired in the last `step`, see `kernels.step`."""
        return self._work.fired

    def step(self, configuration: Configuration, string: NDArray[np.uint16]) -> NDArray[np.int64]:
        """Read symbols; the next call overwrites the result, see `kernels.step`."""
        start = configuration

        def call(window: NDArray[np.int64], tables: Tables) -> NDArray[np.int64]:
            step(
                string,
                start.state,
                start.lexer,
                start.counted,
                start.is_fresh,
                window,
                tables,
                self._result,
                self._work[:],
            )
            return self._result

        return self._run(configuration, call)

    def fill(
        self,
        row: NDArray[np.uint32],
        configuration: Configuration,
        view: SliceView | None,
        *,
        is_wide: bool,
        halts: bool,
    ) -> Walked:
        """Write the row of the tokens that can be read, without end tokens.

        Args:
            row: uint32, (num_words,); all of it is written.
            configuration: where.
            view: the slice of its lexer state, if there is one.
            is_wide: the walk is long if there is none; what lies past a closing quote is expanded
                before it, so that it need not begin again.
            halts: see `Part`.
        """
        if view is not None:
            return self._fill_by_slice(row, configuration, view, halts=halts)
        row.fill(0)
        whole, child = self._whole, self._tokens.quoted
        if not halts:
            whole = whole._replace(halts=False)
        if is_wide and child is not None:
            limit = int(whole.trie.children[child, 2])
            self.walk(row, configuration, whole._replace(first_child=child, limit=limit))
        return self.walk(row, configuration, whole)

    def ends(self, configuration: Configuration, trie: Trie, *, halts: bool) -> EndPoints:
        """Where every token of a trie leads to, see `kernels.ends`."""
        start, capacity = configuration, _FEW_POINTS

        def call(window: NDArray[np.int64], tables: Tables) -> EndPoints | None:
            found = EndPoints.empty(len(self._tokens.begin), capacity)
            num_points = ends(
                trie[:],
                start.state,
                start.lexer,
                start.counted,
                start.is_fresh,
                halts,
                window,
                tables,
                found.end_of_token,
                found.points,
                found.pushes,
                np.zeros(4 * capacity, np.int32),
                self._work[:],
            )
            return None if num_points < 0 else found.cut(num_points)

        while True:
            found = self._run(configuration, call)
            if found is None:
                capacity *= 4
                continue
            num_doors = int(self._work.met[NUM_MISSING])
            if num_doors > MAX_MISSING:  # not all have been noted
                return self.ends(configuration, trie, halts=False)
            doors = tuple(self._work.missing[:num_doors, 1].tolist())
            return found._replace(doors=doors)

    def force(self, configuration: Configuration) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
        """The symbols that must follow, and which ones may come after them; see `kernels.force`."""
        start = configuration

        def call(window: NDArray[np.int64], tables: Tables) -> int:
            return force(
                start.state,
                start.lexer,
                start.counted,
                start.is_fresh,
                window,
                tables,
                self._found,
                self._is_live,
                self._work[:],
            )

        num_found = self._run(configuration, call)
        return self._found[:num_found], self._is_live

    def walk(self, row: NDArray[np.uint32], start: Configuration, part: Part) -> Walked:
        """Add the tokens of a part to a row, see `kernels.walk`."""
        trie, child, limit = part.trie, part.first_child, part.limit
        if limit is None:
            limit = trie.num_nodes
            child = 0 if limit > 1 else NO_CHILD

        def call(window: NDArray[np.int64], tables: Tables) -> int:
            walk(
                trie[:],
                part.groups,
                child,
                limit,
                part.num_counted,
                part.fewest,
                part.most,
                part.label,
                part.beside,
                part.halts,
                start.state,
                start.lexer,
                start.counted,
                window,
                tables,
                row,
                self._work[:],
            )
            self._tables.work.spend(int(self._work.met[NUM_WALKED]) // NODES_PER_PART)
            return int(self._work.met[NUM_FRAMES_SEEN])

        num_frames = self._run(start, call)
        num_doors = int(self._work.met[NUM_MISSING])
        if num_doors == 0:
            return Walked(num_frames)
        if num_doors > MAX_MISSING:  # not all have been noted
            return self.walk(row, start, part._replace(halts=False))
        nodes = self._work.missing[:num_doors, 1].tolist()
        return Walked(num_frames, tuple([(trie, node) for node in nodes]))

    def _fill_by_slice(
        self, row: NDArray[np.uint32], start: Configuration, view: SliceView, *, halts: bool
    ) -> Walked:
        fewest, most = self._tables.count_bounds(start.state)
        num_needed = max(0, fewest - start.counted)
        num_left = UNBOUNDED if most is None else most - start.counted
        is_counted = fewest > 0 or most is not None
        row[:] = view.slice.inner_row(num_left)
        walked = Walked(0)
        for leaving in view.slice.exits:
            part = Part(
                leaving.rests,
                label=view.labels[leaving.label - 1],
                num_counted=leaving.num_counted if is_counted else NO_COUNTS,
                fewest=num_needed if leaving.is_checked else 0,
                most=num_left,
                halts=halts and not is_counted,
            )
            walked = walked.and_then(self.walk(row, start, part))
        if view.source != start.lexer:
            part = self._whole._replace(beside=view.source, halts=halts)
            walked = walked.and_then(self.walk(row, start, part))
        return walked

    def _run(
        self,
        configuration: Configuration,
        call: Callable[[NDArray[np.int64], Tables], Found],
    ) -> Found:
        """Call a kernel until it has met nothing that it does not know, but for doors."""
        window = configuration.window
        while True:
            self._work.met.fill(0)
            found = call(window, self._tables.arrays()[:])
            num_missing = int(self._work.met[NUM_MISSING])
            if num_missing and (missing := self._missing(num_missing)):
                self._expand(missing)
            elif self._work.met[IS_BELOW_WINDOW]:
                assert configuration.below is not None, "a pop from the bottom of the stack"
                wider = configuration.below.window(2 * len(window))
                assert len(wider) > len(window), "a pop from the bottom of the stack"
                window = wider
                self._work = self._work._replace(arena=self._new_arena(len(window)))
            else:
                return found

    def _missing(self, num_missing: int) -> list[tuple[int, ...]]:
        """What a kernel did not know, each once, doors left out."""
        rows = self._work.missing[:num_missing].tolist()
        return list(dict.fromkeys(tuple(row) for row in rows if row[0] != DOOR))

    def _new_arena(self, num_window: int) -> NDArray[np.int64]:
        """Room for the window, and for two pushes with each symbol of the longest string."""
        num_symbols = max(self._tokens.longest, MAX_FORCED_SYMBOLS + 1)
        return np.empty((max(num_window, WINDOW_SIZE) + 2 * num_symbols + 1, 2), np.int64)

    def _expand(self, missing: list[tuple[int, ...]]) -> None:
        for kind, state, entry in missing:
            if kind == MISSING_ACTION:
                if not self._tables.has_action(state, entry):
                    self._expander.expand_action(state, entry)
                assert self._tables.has_action(state, entry), "the expander wrote nothing"
                continue
            outcome = self._tables.outcome(entry)
            if self._tables.resume(state, outcome) is None:
                self._expander.expand_resume(state, outcome)
            assert self._tables.resume(state, outcome) is not None, "the expander wrote nothing"
