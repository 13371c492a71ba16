"""expand_ahead: make structural states before a text comes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.pushdown.actions import Goto, Push
from grammars.pushdown.layout import StateColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.pushdown.actions import Expander
    from grammars.pushdown.tables import AutomatonTables

_LOOKS_PER_ACTION: Final = 8
"""Texts may have expanded most of a large grammar already: an object of 2,000 properties has two
million labels, and looking at them all would take seconds."""


def always() -> bool:
    """The `goes_on` of those who do not care."""
    return True


def expand_ahead(
    tables: AutomatonTables,
    expander: Expander,
    root: int,
    num_actions: int,
    goes_on: Callable[[], bool] = always,
) -> int:
    """See `ExpandableGrammar.warm`; the lock of the tables is taken for one action at a time."""
    num_expanded = num_looks = 0
    seen = {root}
    for state in (order := [root]):
        num_labels = tables.state_row(state)[StateColumn.NUM_LABELS]
        for label in range(1, num_labels + 1):
            if num_looks == _LOOKS_PER_ACTION * num_actions or not goes_on():
                return num_expanded
            num_looks += 1
            if tables.action(state, label) is None:
                if num_expanded == num_actions:
                    return num_expanded
                with tables.lock:
                    if tables.action(state, label) is None:
                        expander.expand_action(state, label)
                        num_expanded += 1
            for target in _targets(tables, state, label):
                if target not in seen:
                    seen.add(target)
                    order.append(target)
    return num_expanded


def _targets(tables: AutomatonTables, state: int, label: int) -> Iterator[int]:
    match tables.action(state, label):
        case Goto(target):
            yield target
        case Push(resume, inner):
            yield inner
            yield resume
        case _:
            pass
