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

from grammars.automata.dfa import DEAD, NO_LABEL
from grammars.automata.owed import characters_owed
from grammars.errors import LimitExceededError
from grammars.pushdown.actions import Action, Dead, Goto, Pop, Push
from grammars.pushdown.layout import (
    ALL_LABELS,
    UNBOUNDED,
    ActionKind,
    GrowingArray,
    LexerColumn,
    StateColumn,
    TableArrays,
)

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
        self._lexers = GrowingArray(len(LexerColumn), np.int64, 1)
        self._transitions = GrowingArray(None, np.int32, 0)
        self._classes = GrowingArray(None, np.uint16, 0)
        self._states = GrowingArray(len(StateColumn), np.int64, 1)
        self._actions = GrowingArray(3, np.int64, 0)
        self._resumes = GrowingArray(3, np.int64, 1)
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
        pools = (
            self._lexers,
            self._transitions,
            self._classes,
            self._states,
            self._actions,
            self._resumes,
        )
        return sum(pool.array.nbytes for pool in pools) + _STATE_BYTES * self.num_states

    @property
    def num_states(self) -> int:
        """How many structural states there are."""
        return self._states.used - 1

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
        self._check_budget(
            8 * len(LexerColumn) * num_states + 4 * dfa.next_state.size + 2 * dfa.symbol_class.size
        )
        first = self._lexers.reserve(num_states - 1)
        base = first - 1
        row = self._transitions.reserve((num_states - 1) * num_classes)
        classes = self._classes.reserve(len(dfa.symbol_class))
        self._arrays = None
        live = dfa.next_state[1:]
        moved = self._transitions.array[row : row + live.size].reshape(live.shape)
        np.add(live, base, out=moved, where=live != DEAD)  # what is reserved is DEAD
        self._classes.array[classes : classes + len(dfa.symbol_class)] = dfa.symbol_class
        table = self._lexers.array[first : first + num_states - 1]
        table[:, LexerColumn.TRANSITIONS] = row + num_classes * np.arange(num_states - 1)
        table[:, LexerColumn.CLASSES] = classes
        table[:, LexerColumn.NUM_SYMBOLS] = len(dfa.symbol_class)
        table[:, LexerColumn.LABEL] = dfa.label[1:]
        accepting = np.flatnonzero(dfa.label[1:])
        table[accepting, LexerColumn.IS_CLOSED] = ~np.any(live[accepting] != DEAD, axis=1)
        table[:, LexerColumn.IS_BOUNDARY] = dfa.char_boundary[1:]
        table[:, LexerColumn.REACH] = ALL_LABELS
        owed = characters_owed(dfa)
        table[:, LexerColumn.OWED] = owed[1:]
        self._most_owed.append(int(owed.max()))
        return base

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
    ) -> int:
        """Add a structural state whose actions are all UNEXPANDED.

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

        Returns:
            The new state, 1 for the first.

        Raises:
            LimitExceededError: the tables would take more than `max_bytes`.
        """
        with self.lock:
            assert self._lexers.array[lexer_start, LexerColumn.LABEL] == NO_LABEL, (
                "an empty terminal"
            )
            self._check_budget(_STATE_BYTES + 8 * len(StateColumn) + 24 * num_labels)
            actions = self._actions.reserve(num_labels)
            state = self._states.reserve(1)
            self._arrays = None
            self._states.array[state] = (
                lexer_start,
                actions,
                num_labels,
                is_final,
                count_min,
                UNBOUNDED if count_max is None else count_max,
                self._outcome_id(full_outcome),
                0,
                window,
            )
            if window != ALL_LABELS:
                hidden = [i for i in range(num_labels) if not window >> i & 1]
                self._actions.array[[actions + i for i in hidden], 0] = ActionKind.DEAD
            return state

    def set_action(self, state: int, label: int, action: Action) -> None:
        """Write the action of (`state`, `label`)."""
        with self.lock:
            row = self._action_row(state, label)
            match action:
                case Goto(target):
                    entry = (ActionKind.GOTO, target, 0)
                case Push(resume, inner):
                    entry = (ActionKind.PUSH, resume, inner)
                case Pop(outcome):
                    entry = (ActionKind.POP, self._outcome_id(outcome), 0)
                case Dead():
                    entry = (ActionKind.DEAD, 0, 0)
            self._actions.array[row] = entry

    def has_action(self, state: int, label: int) -> bool:
        """Whether the action of (`state`, `label`) is expanded."""
        first = self._states.array[state, StateColumn.ACTIONS]
        return bool(self._actions.array[first + label - 1, 0] != ActionKind.UNEXPANDED)

    def action(self, state: int, label: int) -> Action | None:
        """The action of (`state`, `label`), None while it is unexpanded."""
        row = self._actions.array[self._action_row(state, label)]
        kind, first, second = row.tolist()
        match kind:
            case ActionKind.DEAD:
                return Dead()
            case ActionKind.GOTO:
                return Goto(first)
            case ActionKind.PUSH:
                return Push(first, second)
            case ActionKind.POP:
                return Pop(self._outcomes[first])
            case _:
                return None

    def set_resume(self, state: int, outcome: int, target: int) -> None:
        """Write what `state` becomes under `outcome`; the full outcome needs no entry."""
        with self.lock:
            assert self.resume(state, outcome) is None, "a resume is written once"
            self._check_budget(24)
            row = self._resumes.reserve(1)
            self._arrays = None
            first = self._states.array[state, StateColumn.RESUMES]
            self._resumes.array[row] = (self._outcome_id(outcome), target, first)
            self._states.array[state, StateColumn.RESUMES] = row

    def resume(self, state: int, outcome: int) -> int | None:
        """What `state` becomes under `outcome`, None while it is unknown."""
        outcome_id = self._outcome_id(outcome)
        if outcome_id == self._states.array[state, StateColumn.FULL_OUTCOME]:
            return state
        row = int(self._states.array[state, StateColumn.RESUMES])
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
        return int(self._states.array[state, StateColumn.LEXER_START])

    def state_row(self, state: int) -> tuple[int, ...]:
        """The columns of a structural state, see `StateColumn`."""
        return tuple(self._states.array[state].tolist())

    def lexer_row(self, lexer_state: int) -> tuple[int, ...]:
        """The columns of a lexer state, see `LexerColumn`."""
        return tuple(self._lexers.array[lexer_state].tolist())

    def _action_row(self, state: int, label: int) -> int:
        row = self._states.array[state]
        assert 1 <= label <= row[StateColumn.NUM_LABELS], "no such label in this state"
        return int(row[StateColumn.ACTIONS]) + label - 1

    def _outcome_id(self, outcome: int) -> int:
        known = self._outcome_ids.get(outcome)
        if known is None:
            known = len(self._outcomes)
            self._outcome_ids[outcome] = known
            self._outcomes.append(outcome)
        return known

    def _check_budget(self, more_bytes: int) -> None:
        if self.memory_bytes + more_bytes > self._max_bytes:
            raise LimitExceededError(
                "max_table_bytes", self._max_bytes, "the automaton of this grammar"
            )
