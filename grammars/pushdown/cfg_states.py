"""CfgStates: sets of items as the structural states of an automaton, expanded on demand.

A state is a set of items; its lexer reads all terminals that may come next; a label leads to the
set after what it says was read. What is between two brackets is a frame: the state below it is the
set of items that waits for its end, and what of it goes on is said by the items that end there. All
other nesting is in the frames of the items, where alternatives may nest differently.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from grammars.automata.dfa import DEAD
from grammars.cfg.steps import BracketClosed, BracketOpened
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

_WORK_OF_ACTION: Final = 20
_WORK_OF_STATE: Final = 60
"""See `Work`; beside what the grammar counts."""

_FULL_OUTCOME: Final = 1
_FIRST_OUTCOME: Final = 2
"""A state that waits is a single item; but it never goes on as it is, so no frame ends with that
outcome: those of grammars are numbers, from 2 on."""


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

    def __contains__(self, state: int) -> bool:
        return state in self._states or state in self._waiting

    @cached_property
    def root(self) -> int:
        """The state at the beginning of a text; raises as `state` does."""
        return self.state(self._grammar.start)

    def expand_action(self, state: int, label: int) -> None:
        """Write the action of (`state`, `label`) into the tables.

        Raises:
            LimitExceededError: a budget is used up.
        """
        self._tables.work.spend(_WORK_OF_ACTION)
        self._tables.set_action(state, label, self._action(state, label))

    def expand_resume(self, state: int, outcome: int) -> None:
        """Write what a state that waits becomes, see `ends`.

        Raises:
            LimitExceededError: a budget is used up.
        """
        self._tables.work.spend(_WORK_OF_ACTION)
        place = self._grammar.resumed(self._waiting[state], self.ends(outcome))
        self._tables.set_resume(state, outcome, self.state(place))

    def least_rest(self, state: int) -> int:
        """See `Expander`; of a state that waits, 0."""
        ways = self._states.get(state)
        return 0 if ways is None else self._grammar.least_rest(ways.place)

    def cut_strings(self, state: int) -> None:
        """None: terminals are read whole."""

    def after_strings(self, state: int, ended: object) -> Action:  # noqa: ARG002 - a protocol's
        raise AssertionError("no state reads strings in pieces")

    def ends(self, outcome: int) -> Items:
        """The items that end together in an outcome of a frame, see `BracketClosed`."""
        return self._ends[outcome - _FIRST_OUTCOME]

    def _action(self, state: int, label: int) -> Action:
        match self._move(self._states[state], label):
            case BracketOpened(waiting, inner):
                return Push(self._waiting_state(waiting), self.state(inner))
            case BracketClosed(ends):
                return Pop(self._outcome(ends))
            case place:
                return Dead() if self._grammar.is_dead(place) else Goto(self.state(place))

    def _outcome(self, ends: Items) -> int:
        """The number of a set of items that end together."""
        if ends not in self._outcomes:
            self._outcomes[ends] = _FIRST_OUTCOME + len(self._ends)
            self._ends.append(ends)
        return self._outcomes[ends]

    def _waiting_state(self, items: Items) -> int:
        """The state of items that wait for a closing bracket; it reads nothing itself."""
        known = self._waiting_ids.get(items)
        if known is None:
            self._check_budgets()
            known = self._waiting_ids[items] = self._tables.add_state(
                lexer_start=DEAD, num_labels=0, is_final=False, full_outcome=_FULL_OUTCOME
            )
            self._waiting[known] = items
            self._num_bytes += _STATE_BYTES + _ITEM_BYTES * len(items)
        return known

    def state(self, place: Place) -> int:
        """The state of a place.

        Raises:
            LimitExceededError: a budget is used up.
        """
        known = self._ids.get(place)
        if known is None:
            self._check_budgets()
            known = self._ids[place] = self._new_state(place)
        return known

    def _new_state(self, place: Place) -> int:
        self._tables.work.spend(_WORK_OF_STATE)
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
        self._tables.check_num_states(limits.max_structural_states)
        if self._num_bytes > limits.max_table_bytes:
            raise LimitExceededError(
                "max_table_bytes", limits.max_table_bytes, "what is known of the grammar"
            )
