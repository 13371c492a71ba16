"""CfgStates: sets of items as the structural states of an automaton, expanded on demand.

A state is a set of items; its lexer reads all terminals that may come next; a label leads to the
set after what it says was read. The stack of the machine is not used: nesting is in the frames of
the items, where alternatives may nest differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.automata.dfa import DEAD
from grammars.errors import LimitExceededError
from grammars.pushdown.actions import Dead, Goto

if TYPE_CHECKING:
    from grammars.cfg.steps import CfgSteps, Place, Ways
    from grammars.limits import CompileLimits
    from grammars.pushdown.tables import AutomatonTables

_STATE_BYTES: Final = 1200
_ITEM_BYTES: Final = 200
"""Rough sizes of what Python keeps: a state; an item of it, or one that waits for a terminal."""


class CfgStates:
    """The structural layer of a context-free grammar; implements `Expander`.

    Args:
        grammar: the compiled grammar.
        tables: where states and actions are written.
        limits: budgets; `max_table_bytes` counts what Python keeps too.
    """

    def __init__(self, grammar: CfgSteps, tables: AutomatonTables, limits: CompileLimits) -> None:
        self._grammar = grammar
        self._tables = tables
        self._limits = limits
        self._states: dict[int, Ways] = {}
        self._ids: dict[Place, int] = {}
        self._num_bytes = 0
        self.root: int = self._state(grammar.start)

    def expand_action(self, state: int, label: int) -> None:
        """Write the action of (`state`, `label`) into the tables.

        Raises:
            LimitExceededError: a budget is used up.
        """
        place = self._grammar.after(self._states[state], label)
        is_dead = self._grammar.is_dead(place)
        self._tables.set_action(state, label, Dead() if is_dead else Goto(self._state(place)))

    def expand_resume(self, state: int, outcome: int) -> None:
        """Never called: no label pushes a frame."""
        raise AssertionError(f"state {state} has no frame above it (outcome {outcome})")

    def cut_strings(self, state: int) -> None:
        """None: terminals are read whole."""

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
        if len(self._states) >= limits.max_structural_states:
            raise LimitExceededError(
                "max_structural_states", limits.max_structural_states, "the grammar"
            )
        if self._num_bytes > limits.max_table_bytes:
            raise LimitExceededError(
                "max_table_bytes", limits.max_table_bytes, "what is known of the grammar"
            )
