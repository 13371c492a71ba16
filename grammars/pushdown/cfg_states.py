"""CfgStates: sets of items as the structural states of an automaton, expanded on demand.

A state is a set of items; its lexer reads all terminals that may come next; a label leads to the
set after what it says was read. What is between two brackets is a frame: the state below it is the
set of items that waits for its end, and what of it goes on is said by the items that end there. All
other nesting is in the frames of the items, where alternatives may nest differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.automata.dfa import DEAD
from grammars.cfg.steps import Enter, Leave
from grammars.errors import LimitExceededError
from grammars.pushdown.actions import Dead, Goto, Pop, Push

if TYPE_CHECKING:
    from grammars.cfg.items import Items
    from grammars.cfg.steps import CfgSteps, Place, Ways
    from grammars.limits import CompileLimits
    from grammars.pushdown.actions import Action
    from grammars.pushdown.tables import AutomatonTables

_STATE_BYTES: Final = 1200
_ITEM_BYTES: Final = 200
"""Rough sizes of what Python keeps: a state; an item of it, or one that waits for a terminal."""

_NO_OUTCOME: Final = -1
"""What no frame ends with: a state that waits always becomes another one."""


class CfgStates:
    """The structural layer of a context-free grammar; implements `Expander`.

    Args:
        grammar: the compiled grammar.
        tables: where states and actions are written.
        limits: budgets; `max_table_bytes` counts what Python keeps too.
        is_plain: push no frames, the plain reference of those that do.
    """

    def __init__(
        self,
        grammar: CfgSteps,
        tables: AutomatonTables,
        limits: CompileLimits,
        *,
        is_plain: bool = False,
    ) -> None:
        self._tables = tables
        self._limits = limits
        self._grammar = grammar
        self._move = grammar.after if is_plain else grammar.move
        self._states: dict[int, Ways] = {}
        self._ids: dict[Place, int] = {}
        self._waiting: dict[int, Items] = {}
        self._waiting_ids: dict[Items, int] = {}
        self._ends: list[Items] = []
        self._outcomes: dict[Items, int] = {}
        self._num_bytes = 0
        self.root: int = self._state(grammar.start)

    def expand_action(self, state: int, label: int) -> None:
        """Write the action of (`state`, `label`) into the tables.

        Raises:
            LimitExceededError: a budget is used up.
        """
        self._tables.set_action(state, label, self._action(state, label))

    def expand_resume(self, state: int, outcome: int) -> None:
        """Write what a state that waits becomes, see `_outcome`.

        Raises:
            LimitExceededError: a budget is used up.
        """
        place = self._grammar.resumed(self._waiting[state], self._ends[outcome])
        self._tables.set_resume(state, outcome, self._state(place))

    def cut_strings(self, state: int) -> None:
        """None: terminals are read whole."""

    def _action(self, state: int, label: int) -> Action:
        match self._move(self._states[state], label):
            case Enter(waiting, inner):
                return Push(self._waiting_state(waiting), self._state(inner))
            case Leave(ends):
                return Pop(self._outcome(ends))
            case place:
                return Dead() if self._grammar.is_dead(place) else Goto(self._state(place))

    def _outcome(self, ends: Items) -> int:
        """The number of a set of items that end together."""
        if ends not in self._outcomes:
            self._outcomes[ends] = len(self._ends)
            self._ends.append(ends)
        return self._outcomes[ends]

    def _waiting_state(self, items: Items) -> int:
        """The state of items that wait for a closing bracket; it reads nothing itself."""
        known = self._waiting_ids.get(items)
        if known is None:
            self._check_budgets()
            known = self._waiting_ids[items] = self._tables.add_state(
                lexer_start=DEAD, num_labels=0, is_final=False, full_outcome=_NO_OUTCOME
            )
            self._waiting[known] = items
            self._num_bytes += _STATE_BYTES + _ITEM_BYTES * len(items)
        return known

    def _state(self, place: Place) -> int:
        known = self._ids.get(place)
        if known is None:
            self._check_budgets()
            known = self._ids[place] = self._new_state(place)
        return known

    def _new_state(self, place: Place) -> int:
        ways = self._grammar.ways(place)
        lexer = ways.lexer
        state = self._tables.add_state(
            lexer_start=DEAD
            if lexer is None
            else self._tables.lexers.add_dfa(lexer.dfa) + lexer.dfa.start,
            num_labels=0 if lexer is None else len(lexer.labels),
            is_final=place.is_final,
        )
        self._states[state] = ways
        num_items = len(place.items) + sum(map(len, ways.scans.values()))
        self._num_bytes += _STATE_BYTES + _ITEM_BYTES * num_items
        return state

    def _check_budgets(self) -> None:
        limits = self._limits
        if len(self._states) + len(self._waiting) >= limits.max_structural_states:
            raise LimitExceededError(
                "max_structural_states", limits.max_structural_states, "the grammar"
            )
        if self._num_bytes > limits.max_table_bytes:
            raise LimitExceededError(
                "max_table_bytes", limits.max_table_bytes, "what is known of the grammar"
            )
