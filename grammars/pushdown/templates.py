"""Template: a state that is read like many others, which lead elsewhere.

Values of the same kinds are read alike in all grammars of the process, so templates are kept as
lexers are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grammars.byte_lru import ByteLru
from grammars.pushdown.layout import MAX_WINDOW_LABELS
from grammars.pushdown.terminals import Word
from grammars.pushdown.transitions import Continue, Enter, Leave

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from grammars.automata.dfa import Dfa
    from grammars.limits import CompileLimits
    from grammars.pushdown.state_reader import Reading

_COMMA: Final = b","
_OBJECT: Final = b"{"
_ARRAY: Final = b"["

_CACHE_BYTES: Final = 16 * 1024 * 1024
_TEMPLATE_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class Template:
    """What a state inside an object or array reads: a value, or what comes between elements.

    Args:
        dfa: of its lexer.
        start: the state of `dfa` in which it begins.
        num_labels: of its lexer.
        count_min: characters of its counted string at least.
        count_max: and at most; None is unbounded.
        scalar_labels: bits of the labels of values that are neither objects nor arrays.
        end_labels: bits of the labels of the closing bracket.
        object_label: of an opening brace; 0 where there is none.
        comma_label: of the comma before an element; 0 where there is none.
    """

    dfa: Dfa
    start: int
    num_labels: int
    count_min: int
    count_max: int | None
    scalar_labels: int
    end_labels: int
    object_label: int
    comma_label: int


_cache: Final[ByteLru[Hashable, Template]] = ByteLru(_CACHE_BYTES)


class KnownTemplates:
    """The templates of one way of reading; what they are found by is the same in all grammars.

    Args:
        limits: budgets that lexers depend on.
        missing_bytes: bytes that the vocabulary cannot spell.
    """

    def __init__(self, limits: CompileLimits, missing_bytes: frozenset[int]) -> None:
        self._common = (limits.max_states, missing_bytes)
        self._known: dict[Hashable, Template | None] = {}

    def find(self, kinds: Hashable, read: Callable[[], Reading]) -> Template | None:
        """The template of all states of these kinds; None where there is none.

        Args:
            kinds: equal for states that are read alike.
            read: reads one of them.

        Raises:
            GrammarError: as reading does.
        """
        if kinds not in self._known:
            key = (self._common, kinds)
            template = _cache.get(key)
            if template is None:
                template = make_template(read())
                if template is not None:
                    _cache.put(key, template, template.dfa.next_state.nbytes + _TEMPLATE_BYTES)
            self._known[kinds] = template
        return self._known[kinds]


def make_template(reading: Reading) -> Template | None:
    """The template of a state of one item; None where a label says more than this, or too much.

    Args:
        reading: has a lexer of its own.
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
            case Continue() | Enter() if isinstance(word, bytes) and word in opening:
                opening[word] = label
            case _:
                return None  # a piece of a string is read in a frame too
    counted = reading.counted
    return Template(
        dfa=lexer.dfa,
        start=reading.start,
        num_labels=len(lexer.items),
        count_min=0 if counted is None else counted.fewest,
        count_max=None if counted is None else counted.most,
        scalar_labels=scalars,
        end_labels=ends,
        object_label=opening[_OBJECT],
        comma_label=opening[_COMMA],
    )
