"""Template: a state that is read like many others, which lead elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grammars.pushdown.layout import MAX_WINDOW_LABELS
from grammars.pushdown.terminals import Word
from grammars.pushdown.transitions import Continue, Enter, Leave

if TYPE_CHECKING:
    from grammars.pushdown.state_reader import Reading
    from grammars.pushdown.tables import AutomatonTables

_COMMA: Final = b","
_OBJECT: Final = b"{"
_ARRAY: Final = b"["


@dataclass(frozen=True, slots=True)
class Template:
    """What a state inside an object or array reads: a value, or what comes between elements.

    Args:
        start: the lexer state in which it begins, in the tables.
        num_labels: of its lexer.
        count_min: characters of its counted string at least.
        count_max: and at most; None is unbounded.
        scalar_labels: bits of the labels of values that are neither objects nor arrays.
        end_labels: bits of the labels of the closing bracket.
        object_label: of an opening brace; 0 where there is none.
        array_label: of an opening bracket; 0 where there is none.
        comma_label: of the comma before an element; 0 where there is none.
    """

    start: int
    num_labels: int
    count_min: int
    count_max: int | None
    scalar_labels: int
    end_labels: int
    object_label: int
    array_label: int
    comma_label: int


def find_template(reading: Reading, tables: AutomatonTables) -> Template | None:
    """The template of a state of one item; None where a label says more than this, or too much.

    Args:
        reading: has a lexer of its own.
        tables: where its automaton is added.
    """
    lexer = reading.lexer
    if lexer is None or len(lexer.items) > MAX_WINDOW_LABELS:
        return None
    scalars = ends = 0
    opening = {_COMMA: 0, _OBJECT: 0, _ARRAY: 0}
    for label, items in enumerate(lexer.items, 1):
        if len(items) > 1:
            return None
        [item] = items
        terminal = reading.terminals[item]
        word = terminal.pieces[0] if isinstance(terminal, Word) else None
        match reading.effects[item][1]:
            case Leave():
                ends |= 1 << label - 1
            case Continue() if word != _COMMA:
                scalars |= 1 << label - 1
            case Continue() | Enter():
                if not isinstance(word, bytes) or word not in opening:
                    return None  # a piece of a string is read in a frame too
                opening[word] = label
    counted = reading.counted
    return Template(
        start=tables.add_dfa(lexer.dfa) + reading.start,
        num_labels=len(lexer.items),
        count_min=0 if counted is None else counted.fewest,
        count_max=None if counted is None else counted.most,
        scalar_labels=scalars,
        end_labels=ends,
        object_label=opening[_OBJECT],
        array_label=opening[_ARRAY],
        comma_label=opening[_COMMA],
    )
