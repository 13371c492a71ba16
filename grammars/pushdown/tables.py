"""AutomatonTables: the pushdown automaton as growing flat arrays that the mask kernels read.

Three pools, all indexed from 1 (0 is dead everywhere):

* lexer states: the states of every added `Dfa`, one after the other, with global numbers;
* structural states: one lexer start each, and one action per label;
* resumes: what a state below a popped one becomes, per outcome.

Actions and resumes are missing until an `Expander` writes them: a grammar costs what is visited.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import NO_LABEL
from grammars.errors import LimitExceededError
from grammars.pushdown.actions import Action, Dead, Goto, Pop, Push
from grammars.pushdown.columns import (
    ACTIONS,
    DEAD_ACTION,
    FULL_OUTCOME,
    GOTO,
    LABEL,
    LEXER_START,
    NUM_LABELS,
    POP,
    PUSH,
    RESUMES,
    UNEXPANDED,
)
from grammars.pushdown.layout import (
    ALL_LABELS,
    UNBOUNDED,
    GrowingArray,
    LexerColumn,
    StateColumn,
    TableArrays,
)
from grammars.pushdown.table_rows import owed_of, write_dfa, write_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa


_STATE_BYTES: Final = 3000
"""What an `Expander` keeps of a state, about (measured with tracemalloc over 80 schemas)."""


class AutomatonTables:
    """The tables of one grammar; grows under `lock`, never forgets (see `masks.renewal` for that).

    Args:
        max_bytes: what `memory_bytes` may come to; more raises LimitExceededError.
    """

    def __init__(self, *, max_bytes: int = 256 * 2**20) -> None:
        self.lock = threading.RLock()
        self._max_bytes = max_bytes
        self._lexers = GrowingArray(len(LexerColumn), np.int64, 1, capacity=256)
        self._transitions = GrowingArray(None, np.int32, 0, capacity=4096)
        self._classes = GrowingArray(None, np.uint16, 0, capacity=1024)
        self._states = GrowingArray(len(StateColumn), np.int64, 1)
        self._actions = GrowingArray(3, np.int64, 0, capacity=256)
        self._resumes = GrowingArray(3, np.int64, 1)
        pools = (
            self._lexers,
            self._transitions,
            self._classes,
            self._states,
            self._actions,
            self._resumes,
        )
        self._array_bytes = sum(pool.array.nbytes for pool in pools)
        self._base_of_dfa: dict[Dfa, int] = {}  # a Dfa compares by identity
        self._dfas: list[Dfa] = []
        self._bases: list[int] = []
        self._most_owed: list[int] = []  # of each Dfa
        self._outcomes: list[int] = []
        self._outcome_ids: dict[int, int] = {}
        self._arrays: TableArrays | None = None  # made anew when an array has moved

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays and, about, of what the structural layer keeps of its states."""
        return self._array_bytes + _STATE_BYTES * self.num_states

    @property
    def num_states(self) -> int:
        """How many structural states there are."""
        return self._states.used - 1

    def check_num_states(self, max_states: int) -> None:
        """Refuse another structural state past a budget.

        Raises:
            LimitExceededError: there are `max_states`.
        """
        if self.num_states >= max_states:
            raise LimitExceededError("max_structural_states", max_states, "the grammar")

    def arrays(self) -> TableArrays:
        """The arrays as they are now; `lock` must be held for as long as they are read."""
        if self._arrays is None:
            self._arrays = TableArrays(
                self._lexers.array,  # type: ignore[arg-type]  # a pool knows its dtype, not its type
                self._transitions.array,  # type: ignore[arg-type]
                self._classes.array,  # type: ignore[arg-type]
                self._states.array,  # type: ignore[arg-type]
                self._actions.array,  # type: ignore[arg-type]
                self._resumes.array,  # type: ignore[arg-type]
            )
        return self._arrays

    def add_dfa(self, dfa: Dfa) -> int:
        """Add the states of `dfa`, once per object.

        Returns:
            base: local state q > 0 has the global number base + q. (Local DEAD is global 0.)

        Raises:
            LimitExceededError: the tables would take more than `max_bytes`.
        """
        with self.lock:
            base = self._base_of_dfa.get(dfa)
            if base is None:
                base = self._append_dfa(dfa)
                self._base_of_dfa[dfa] = base
                self._bases.append(base)
                self._dfas.append(dfa)
            return base

    def _append_dfa(self, dfa: Dfa) -> int:
        num_states, num_classes = dfa.next_state.shape
        num_live, num_symbols = num_states - 1, len(dfa.symbol_class)
        self._check_budget(
            8 * len(LexerColumn) * num_states + 4 * dfa.next_state.size + 2 * num_symbols
        )
        first = self._reserve(self._lexers, num_live)
        transition = self._reserve(self._transitions, num_live * num_classes)
        symbol = self._reserve(self._classes, num_symbols)
        arrays = self.arrays()
        owed = owed_of(dfa)
        write_dfa(
            dfa.next_state,
            dfa.symbol_class,
            dfa.label,
            dfa.char_boundary,
            owed,
            arrays.lexers,
            arrays.transitions,
            arrays.classes,
            first,
            transition,
            symbol,
        )
        self._most_owed.append(int(owed.max()))
        return first - 1

    def set_reach(self, base: int, reach: NDArray[np.int64]) -> None:
        """Write the labels that the states of an added `Dfa` can reach, for states with a window.

        Args:
            base: of the `Dfa`.
            reach: int64, (num_states,), see `LexerColumn.REACH`.
        """
        with self.lock:
            self._lexers.array[base + 1 : base + len(reach), LexerColumn.REACH] = reach[1:]

    def locate(self, lexer_state: int) -> tuple[Dfa, int]:
        """The Dfa that a live global lexer state belongs to, and its local number there."""
        index = bisect_right(self._bases, lexer_state - 1) - 1
        return self._dfas[index], lexer_state - self._bases[index]

    def most_owed(self, lexer_state: int) -> int:
        """The greatest `LexerColumn.OWED` among the states of the same Dfa."""
        return self._most_owed[bisect_right(self._bases, lexer_state - 1) - 1]

    def add_state(
        self,
        *,
        lexer_start: int,
        num_labels: int,
        is_final: bool,
        full_outcome: int = 0,
        count_min: int = 0,
        count_max: int | None = None,
        window: int = ALL_LABELS,
        goto_labels: int = 0,
        goto_target: int = 0,
        pop_labels: int = 0,
        pop_outcome: int = 0,
    ) -> int:
        """Add a structural state whose actions are UNEXPANDED, but for what is given.

        Args:
            lexer_start: global lexer state, not accepting (terminals are never empty); DEAD where
                nothing can follow, as in a final state that ends the text.
            num_labels: labels 1..num_labels may fire.
            is_final: whether the text is complete here.
            full_outcome: the outcome in which every item's inner value ended: it changes nothing.
            count_min: characters that a counted string has at least.
            count_max: and at most; None is unbounded.
            window: bits of the labels that the state reads, see `StateColumn.WINDOW`. The others
                are dead here: what leads to them alone is not read. Needs `set_reach`.
            goto_labels: bits of labels whose action is `Goto(goto_target)`.
            goto_target: a state.
            pop_labels: bits of labels whose action is `Pop(pop_outcome)`.
            pop_outcome: see `Pop`.

        Returns:
            The new state, 1 for the first.

        Raises:
            LimitExceededError: the tables would take more than `max_bytes`.
        """
        with self.lock:
            assert self._lexers.array[lexer_start, LABEL] == NO_LABEL, "an empty terminal"
            self._check_budget(_STATE_BYTES + 8 * len(StateColumn) + 24 * num_labels)
            actions = self._reserve(self._actions, num_labels)
            state = self._reserve(self._states, 1)
            arrays = self.arrays()
            write_state(
                arrays.states,
                arrays.actions,
                state,
                lexer_start,
                actions,
                num_labels,
                is_final,
                count_min,
                UNBOUNDED if count_max is None else count_max,
                self._outcome_id(full_outcome),
                window,
                goto_labels,
                goto_target,
                pop_labels,
                self._outcome_id(pop_outcome),
            )
            return state

    def set_action(self, state: int, label: int, action: Action) -> None:
        """Write the action of (`state`, `label`)."""
        with self.lock:
            row = self._action_row(state, label)
            match action:
                case Goto(target):
                    entry = (GOTO, target, 0)
                case Push(resume, inner):
                    entry = (PUSH, resume, inner)
                case Pop(outcome):
                    entry = (POP, self._outcome_id(outcome), 0)
                case Dead():
                    entry = (DEAD_ACTION, 0, 0)
            self._actions.array[row] = entry

    def has_action(self, state: int, label: int) -> bool:
        """Whether the action of (`state`, `label`) is expanded."""
        first = self._states.array[state, ACTIONS]
        return bool(self._actions.array[first + label - 1, 0] != UNEXPANDED)

    def action(self, state: int, label: int) -> Action | None:
        """The action of (`state`, `label`), None while it is unexpanded."""
        row = self._actions.array[self._action_row(state, label)]
        kind, first, second = row.tolist()
        if kind == GOTO:
            return Goto(first)
        if kind == PUSH:
            return Push(first, second)
        if kind == POP:
            return Pop(self._outcomes[first])
        return Dead() if kind == DEAD_ACTION else None

    def set_resume(self, state: int, outcome: int, target: int) -> None:
        """Write what `state` becomes under `outcome`; the full outcome needs no entry."""
        with self.lock:
            assert self.resume(state, outcome) is None, "a resume is written once"
            self._check_budget(24)
            row = self._reserve(self._resumes, 1)
            first = self._states.array[state, RESUMES]
            self._resumes.array[row] = (self._outcome_id(outcome), target, first)
            self._states.array[state, RESUMES] = row

    def resume(self, state: int, outcome: int) -> int | None:
        """What `state` becomes under `outcome`, None while it is unknown."""
        outcome_id = self._outcome_id(outcome)
        if outcome_id == self._states.array[state, FULL_OUTCOME]:
            return state
        row = int(self._states.array[state, RESUMES])
        while row:
            known, target, row = (int(x) for x in self._resumes.array[row])
            if known == outcome_id:
                return target
        return None

    def outcome(self, outcome_id: int) -> int:
        """The outcome that the arrays call `outcome_id`."""
        return self._outcomes[outcome_id]

    def lexer_start(self, state: int) -> int:
        """The lexer state in which a structural state begins."""
        return int(self._states.array[state, LEXER_START])

    def state_row(self, state: int) -> tuple[int, ...]:
        """The columns of a structural state, see `StateColumn`."""
        return tuple(self._states.array[state].tolist())

    def lexer_row(self, lexer_state: int) -> tuple[int, ...]:
        """The columns of a lexer state, see `LexerColumn`."""
        return tuple(self._lexers.array[lexer_state].tolist())

    def _action_row(self, state: int, label: int) -> int:
        row = self._states.array[state]
        assert 1 <= label <= row[NUM_LABELS], "no such label in this state"
        return int(row[ACTIONS]) + label - 1

    def _outcome_id(self, outcome: int) -> int:
        known = self._outcome_ids.get(outcome)
        if known is None:
            known = len(self._outcomes)
            self._outcome_ids[outcome] = known
            self._outcomes.append(outcome)
        return known

    def _reserve(self, pool: GrowingArray, count: int) -> int:
        before = pool.array
        first = pool.reserve(count)
        if pool.array is not before:
            self._array_bytes += pool.array.nbytes - before.nbytes
            self._arrays = None
        return first

    def _check_budget(self, more_bytes: int) -> None:
        if self.memory_bytes + more_bytes > self._max_bytes:
            raise LimitExceededError(
                "max_table_bytes", self._max_bytes, "the automaton of this grammar"
            )
