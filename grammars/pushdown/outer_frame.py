"""expand_outer_frame: whatever is refused is refused before there is a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from grammars.automata.string_rest import ENDED
from grammars.pushdown.actions import Goto, Push
from grammars.pushdown.configs import GrammarThen
from grammars.pushdown.items import Item
from grammars.pushdown.refusals import unclear_end
from grammars.pushdown.terminals import Scanned, StringPiece

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.pushdown.configs import ConfigTable
    from grammars.pushdown.state_reader import Reading, StateReader
    from grammars.pushdown.tables import AutomatonTables
    from grammars.pushdown.terminals import Terminal


class States(Protocol):
    """The structural layer, as this module needs it."""

    root: int

    def num_labels(self, state: int) -> int:
        """How many labels the lexer of a state has."""
        ...

    def expand_action(self, state: int, label: int) -> None:
        """Write an action into the tables."""
        ...

    def is_of_json(self, state: int) -> bool:
        """Whether a state is surely within a JSON document, or before one."""
        ...

    def reading(self, state: int) -> Reading:
        """What a state reads."""
        ...

    def state_of(self, item: Item) -> int:
        """The state of a single item."""
        ...


def expand_outer_frame(
    states: States, tables: AutomatonTables, configs: ConfigTable, reader: StateReader
) -> None:
    """Visit all states of the outermost frame.

    Every embedded schema and pattern is read on the way, and every place where two parts meet is
    checked; the frames inside JSON documents, the insides of grammars and the later pieces of
    strings stay unexpanded.

    Raises:
        GrammarError: something is refused.
    """
    pending, seen = [states.root], {states.root}
    while pending:
        state = pending.pop()
        targets = [*_after_grammars(state, states, configs, reader)]
        targets += _after_labels(state, states, tables)
        new = [target for target in dict.fromkeys(targets) if target not in seen]
        seen.update(new)
        pending += new


def _after_labels(state: int, states: States, tables: AutomatonTables) -> Iterator[int]:
    """Where the labels of a state lead within the frame."""
    for label in range(1, states.num_labels(state) + 1):
        if not tables.has_action(state, label):
            if _is_inside(state, label, states):
                continue
            states.expand_action(state, label)
        match tables.action(state, label):
            case Goto(target) | Push(target, _):
                yield target
            case _:
                pass


def _after_grammars(
    state: int, states: States, configs: ConfigTable, reader: StateReader
) -> Iterator[int]:
    """The states that begin where a grammar of this state will have ended."""
    atoms = () if states.is_of_json(state) else states.reading(state).atoms
    for item in atoms:
        config = configs[item.config]
        if isinstance(config, GrammarThen):
            after = states.state_of(Item(item.tags, config.then))
            for atom in states.reading(after).atoms:
                if not config.grammar.lead_bytes.isdisjoint(reader.first_symbols(atom.config)):
                    raise unclear_end()
            yield after


def _is_inside(state: int, label: int, states: States) -> bool:
    """Whether a label is one of an embedded grammar, or within a string."""
    if states.is_of_json(state):
        return False
    reading = states.reading(state)
    assert reading.lexer is not None
    return reading.members is None and any(
        _is_inner(reading.terminals[item]) for item in reading.lexer.items[label - 1]
    )


def _is_inner(terminal: Terminal) -> bool:
    match terminal:
        case Scanned():
            return True
        case StringPiece(label=label):
            return label != ENDED
        case _:
            return False
