"""GrammarFrames: embedded grammars; what is between their brackets are frames.

Nothing of a structure can come before the closing bracket. So what is between brackets are states
of the grammar alone, as if it were the whole text; the state below is one of the structure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.cfg.steps import BracketClosed, BracketOpened, Place
from grammars.pushdown.actions import Dead, Goto, Push
from grammars.pushdown.cfg_states import CfgStates
from grammars.pushdown.configs import GrammarThen, GrammarWaits
from grammars.pushdown.items import Item

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.cfg.steps import CfgSteps
    from grammars.limits import CompileLimits
    from grammars.pushdown.actions import Action
    from grammars.pushdown.configs import ConfigTable
    from grammars.pushdown.tables import AutomatonTables
    from grammars.pushdown.transitions import Scan


class GrammarFrames:
    """The states between brackets of all grammars of one structure, and those that lead there.

    Args:
        tables: where states and actions are written.
        configs: the table of configs.
        limits: budgets.
    """

    def __init__(
        self, tables: AutomatonTables, configs: ConfigTable, limits: CompileLimits
    ) -> None:
        self._tables = tables
        self._configs = configs
        self._limits = limits
        self._states: dict[CfgSteps, CfgStates] = {}

    def __contains__(self, state: int) -> bool:
        return any(state in states for states in self._states.values())

    def expand_action(self, state: int, label: int) -> None:
        """See `Expander`; for a state between brackets."""
        self._owner(state).expand_action(state, label)

    def expand_resume(self, state: int, outcome: int) -> None:
        """See `Expander`; for a state between brackets."""
        self._owner(state).expand_resume(state, outcome)

    def action(self, tags: int, scan: Scan, state_of: Callable[[Item], int]) -> Action:
        """What a label of a grammar's lexer does outside of its brackets.

        Args:
            tags: of the item that reads it.
            scan: what was read.
            state_of: the state of a single item of the structure.

        Raises:
            LimitExceededError: a budget is used up.
        """
        grammar, then = scan.grammar, scan.then
        move = grammar.move(scan.ways, scan.label)
        match move:
            case BracketOpened(waiting, inner):
                below = self._configs.intern(GrammarWaits(grammar, waiting, then))
                return Push(state_of(Item(tags, below)), self._of(grammar).state(inner))
            case BracketClosed():
                raise AssertionError("a bracket is closed in the frame that it opened")
            case Place():
                if grammar.is_dead(move):
                    return Dead()
                after = self._configs.intern(GrammarThen(grammar, move, then))
                return Goto(state_of(Item(tags, after)))

    def resumed(self, tags: int, config: GrammarWaits, outcome: int) -> Item:
        """What an item below a frame becomes when that ends with an outcome.

        Raises:
            LimitExceededError: a budget is used up.
        """
        grammar = config.grammar
        place = grammar.resumed(config.waiting, self._of(grammar).ends(outcome))
        return Item(tags, self._configs.intern(GrammarThen(grammar, place, config.then)))

    def _of(self, grammar: CfgSteps) -> CfgStates:
        known = self._states.get(grammar)
        if known is None:
            known = self._states[grammar] = CfgStates(grammar, self._tables, self._limits)
        return known

    def _owner(self, state: int) -> CfgStates:
        return next(states for states in self._states.values() if state in states)
