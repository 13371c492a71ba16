"""CfgStates: sets of items as the structural states of an automaton, expanded on demand.

A state is a set of items; its lexer reads all terminals that may come next; a label leads to the
set after what it says was read. The stack of the machine is not used: nesting is in the frames of
the items, where alternatives may nest differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammars.automata.dfa import DEAD
from grammars.cfg.items import END, Item
from grammars.errors import LimitExceededError
from grammars.pushdown.actions import Goto

if TYPE_CHECKING:
    from grammars.cfg.compiled import CompiledCfg
    from grammars.cfg.items import Items
    from grammars.cfg.lexers import ScanLexer
    from grammars.cfg.parsing import Scans
    from grammars.limits import CompileLimits
    from grammars.pushdown.tables import AutomatonTables


@dataclass(frozen=True, slots=True)
class _State:
    """What the Python side knows of a structural state.

    Args:
        items: what it stands for.
        scans: what may come next.
        lexer: that reads it; None where nothing may come.
    """

    items: Items
    scans: Scans
    lexer: ScanLexer | None


class CfgStates:
    """The structural layer of a context-free grammar; implements `Expander`.

    Args:
        grammar: the compiled grammar.
        tables: where states and actions are written.
        limits: budgets.
    """

    def __init__(
        self, grammar: CompiledCfg, tables: AutomatonTables, limits: CompileLimits
    ) -> None:
        self._parser = grammar.parser
        self._lexers = grammar.lexers
        self._ignored = grammar.ignored
        self._tables = tables
        self._limits = limits
        self._states: dict[int, _State] = {}
        self._ids: dict[Items, int] = {}
        self.root: int = self._state(self._parser.start())

    def expand_action(self, state: int, label: int) -> None:
        """Write the action of (`state`, `label`) into the tables.

        Raises:
            LimitExceededError: a budget is used up.
        """
        known = self._states[state]
        assert known.lexer is not None
        read = known.lexer.labels[label - 1]
        kernel: set[Item] = set()
        for scan in read.ended:
            kernel |= known.scans.get(scan, frozenset())
        for opened in read.opened:
            waiting = known.scans[opened.scan]
            kernel.update(self._parser.inside(opened.scan, waiting, opened.lexer))
        items = self._parser.completed(kernel)
        if not self._ignored.isdisjoint(read.ended):
            items |= known.items - {END}  # a text does not end with what is ignored
        self._tables.set_action(state, label, Goto(self._state(items)))

    def expand_resume(self, state: int, outcome: int) -> None:
        """Never called: no label pushes a frame."""
        raise AssertionError(f"state {state} has no frame above it (outcome {outcome})")

    def _state(self, items: Items) -> int:
        known = self._ids.get(items)
        if known is None:
            if len(self._states) >= self._limits.max_structural_states:
                raise LimitExceededError(
                    "max_structural_states", self._limits.max_structural_states, "the grammar"
                )
            known = self._ids[items] = self._new_state(items)
        return known

    def _new_state(self, items: Items) -> int:
        scans = self._parser.scans(items)
        wanted = set(scans)
        if scans and self._states:  # between terminals, not before the first or after the last
            wanted |= self._ignored
        lexer = self._lexers.find(wanted) if wanted else None
        state = self._tables.add_state(
            lexer_start=DEAD
            if lexer is None
            else self._tables.add_dfa(lexer.dfa) + lexer.dfa.start,
            num_labels=0 if lexer is None else len(lexer.labels),
            is_final=END in items,
        )
        self._states[state] = _State(items, scans, lexer)
        return state
