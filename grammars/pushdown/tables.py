"""AutomatonTables: the pushdown automaton as growing flat arrays that the mask kernels read.

Three kinds of rows, all numbered from 1 (0 is dead everywhere):

* lexer states: see `LexerPool`;
* structural states: one lexer start each, and one action per label;
* resumes: what a state below a popped one becomes, per outcome.

Actions and resumes are missing until an `Expander` writes them: a grammar costs what is visited.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import NO_LABEL
from grammars.errors import LimitExceededError
from grammars.limits import MAX_STEP_WORK
from grammars.pushdown.actions import Action, Dead, Goto, Pop, Push
from grammars.pushdown.array_pools import ArrayPools
from grammars.pushdown.columns import (
    ACTIONS,
    DEAD_ACTION,
    FAR_SET,
    FULL_OUTCOME,
    GOTO,
    LABEL,
    LEXER_START,
    NUM_LABELS,
    POP,
    PUSH,
    RESUMES,
    UNEXPANDED,
    WINDOW,
)
from grammars.pushdown.layout import (
    ALL_LABELS,
    FIRST_FAR_LABEL,
    MAX_WINDOW_LABELS,
    UNBOUNDED,
    StateColumn,
)
from grammars.pushdown.lexer_pool import NEAR_LABELS, LexerPool
from grammars.pushdown.table_rows import write_state
from grammars.work import Work

if TYPE_CHECKING:
    from grammars.pushdown.layout import TableArrays

_WORD_BITS: Final = 64
_NUM_STATE_COLUMNS: Final = len(StateColumn)

_UNCOUNTED: Final = (0, None)

_STATE_BYTES: Final = 3000
"""What an `Expander` keeps of a state, about (measured with tracemalloc over 80 schemas)."""


class AutomatonTables:
    """The tables of one grammar; grows under `lock`, never forgets (see `masks.renewal` for that).

    Args:
        max_bytes: what `memory_bytes` may come to; more raises LimitExceededError.
        max_step_work: see `CompileLimits`.

    Attributes:
        work: spent by whatever fills the tables.
    """

    def __init__(
        self,
        *,
        max_bytes: int = 256 * 2**20,
        max_step_work: int = MAX_STEP_WORK,
    ) -> None:
        self.lock = threading.RLock()
        self.work = Work(max_step_work)
        self._pools = ArrayPools(max_bytes)
        self.lexers = LexerPool(self._pools, self.lock)
        self._count_bounds: dict[int, tuple[int, int | None]] = {}  # of states that count
        self._outcomes: list[int] = []
        self._outcome_ids: dict[int, int] = {}

    @property
    def memory_bytes(self) -> int:
        """Bytes of all arrays and, about, of what the structural layer keeps of its states."""
        return self._pools.num_bytes

    @property
    def num_states(self) -> int:
        """How many structural states there are."""
        return self._pools.states.used - 1

    def check_num_states(self, max_states: int) -> None:
        """Refuse another structural state past a budget.

        Raises:
            LimitExceededError: there are `max_states`.
        """
        if self.num_states >= max_states:
            raise LimitExceededError("max_structural_states", max_states, "the grammar")

    def arrays(self) -> TableArrays:
        """The arrays as they are now; `lock` must be held for as long as they are read."""
        return self._pools.arrays()

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
        shares_actions_of: int | None = None,
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
            window: bit l - 1 is set for the labels l that the state reads. The others are dead
                here: what leads to them alone is not read. Needs `set_reach`, and `set_far_spans`
                where there are far labels.
            shares_actions_of: a state with the same labels, and the same actions of them all.
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
            assert self._pools.lexers.array[lexer_start, LABEL] == NO_LABEL, "an empty terminal"
            far = 0 if window == ALL_LABELS else window >> MAX_WINDOW_LABELS
            num_actions = num_labels if shares_actions_of is None else 0
            self._pools.check_budget(
                _STATE_BYTES + 8 * _NUM_STATE_COLUMNS + 24 * num_actions + far.bit_length() // 8
            )
            if shares_actions_of is None:
                actions = self._pools.reserve(self._pools.actions, num_labels)
            else:
                actions = int(self._pools.states.array[shares_actions_of, ACTIONS])
            far_set = self._add_far_set(far, num_labels) if far else 0
            state = self._pools.reserve(self._pools.states, 1)
            self._pools.keep(_STATE_BYTES)
            if count_min > 0 or count_max is not None:
                self._count_bounds[state] = count_min, count_max
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
                window if window == ALL_LABELS else window & NEAR_LABELS,
                far_set,
                self.lexers.far_spans_of(lexer_start) if far else 0,
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
            self._pools.actions.array[row] = entry

    def has_action(self, state: int, label: int) -> bool:
        """Whether the action of (`state`, `label`) is expanded, or not read."""
        first = self._pools.states.array[state, ACTIONS]
        is_expanded = self._pools.actions.array[first + label - 1, 0] != UNEXPANDED
        return bool(is_expanded) or not self.reads(state, label)

    def action(self, state: int, label: int) -> Action | None:
        """The action of (`state`, `label`), None while it is unexpanded."""
        if not self.reads(state, label):
            return Dead()
        row = self._pools.actions.array[self._action_row(state, label)]
        kind, first, second = row.tolist()
        if kind == GOTO:
            return Goto(first)
        if kind == PUSH:
            return Push(first, second)
        if kind == POP:
            return Pop(self._outcomes[first])
        return Dead() if kind == DEAD_ACTION else None

    def reads(self, state: int, label: int) -> bool:
        """Whether a label is in the window of a state."""
        row = self._pools.states.array[state]
        if label <= MAX_WINDOW_LABELS or row[WINDOW] == ALL_LABELS:
            return bool(row[WINDOW] >> min(label, FIRST_FAR_LABEL) - 1 & 1)
        if row[FAR_SET] == 0:
            return False
        word, bit = divmod(label - FIRST_FAR_LABEL, _WORD_BITS)
        return bool(self._pools.far_sets.array[row[FAR_SET] + word] >> bit & 1)

    def window(self, state: int) -> int:
        """Bits of the labels that a state reads; ALL_LABELS where it reads all of its lexer's."""
        row = self._pools.states.array[state]
        near, num_labels, first = (int(row[column]) for column in (WINDOW, NUM_LABELS, FAR_SET))
        if near == ALL_LABELS or first == 0:
            return near
        words = self._pools.far_sets.array[first : first + _num_words(num_labels)]
        return near | int.from_bytes(words.astype("<i8").tobytes(), "little") << MAX_WINDOW_LABELS

    def set_resume(self, state: int, outcome: int, target: int) -> None:
        """Write what `state` becomes under `outcome`; the full outcome needs no entry."""
        with self.lock:
            assert self.resume(state, outcome) is None, "a resume is written once"
            self._pools.check_budget(24)
            row = self._pools.reserve(self._pools.resumes, 1)
            first = self._pools.states.array[state, RESUMES]
            self._pools.resumes.array[row] = (self._outcome_id(outcome), target, first)
            self._pools.states.array[state, RESUMES] = row

    def resume(self, state: int, outcome: int) -> int | None:
        """What `state` becomes under `outcome`, None while it is unknown."""
        outcome_id = self._outcome_id(outcome)
        if outcome_id == self._pools.states.array[state, FULL_OUTCOME]:
            return state
        row = int(self._pools.states.array[state, RESUMES])
        while row:
            known, target, row = (int(x) for x in self._pools.resumes.array[row])
            if known == outcome_id:
                return target
        return None

    def outcome(self, outcome_id: int) -> int:
        """The outcome that the arrays call `outcome_id`."""
        return self._outcomes[outcome_id]

    def lexer_start(self, state: int) -> int:
        """The lexer state in which a structural state begins."""
        return int(self._pools.states.array[state, LEXER_START])

    def count_bounds(self, state: int) -> tuple[int, int | None]:
        """The fewest and the most characters of a counted string that a state reads."""
        return self._count_bounds.get(state, _UNCOUNTED)

    def state_row(self, state: int) -> tuple[int, ...]:
        """The columns of a structural state, see `StateColumn`."""
        return tuple(self._pools.states.array[state].tolist())

    def _add_far_set(self, labels: int, num_labels: int) -> int:
        """Where the set of these far labels begins, bit 0 being the first."""
        num_words = _num_words(num_labels)
        first = self._pools.reserve(self._pools.far_sets, num_words)
        words = np.frombuffer(labels.to_bytes(8 * num_words, "little"), "<i8")
        self._pools.far_sets.array[first : first + num_words] = words
        return first

    def _action_row(self, state: int, label: int) -> int:
        row = self._pools.states.array[state]
        assert 1 <= label <= row[NUM_LABELS], "no such label in this state"
        return int(row[ACTIONS]) + label - 1

    def _outcome_id(self, outcome: int) -> int:
        known = self._outcome_ids.get(outcome)
        if known is None:
            known = len(self._outcomes)
            self._outcome_ids[outcome] = known
            self._outcomes.append(outcome)
        return known


def _num_words(num_labels: int) -> int:
    """Words of a set of the far ones of some labels."""
    return (num_labels - MAX_WINDOW_LABELS + _WORD_BITS - 1) // _WORD_BITS
