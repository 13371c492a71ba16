"""few_texts: the strings of an automaton that accepts only a few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from grammars.automata.dfa import DEAD
from grammars.automata.string_list import StringList

if TYPE_CHECKING:
    from grammars.automata.codepoint_dfa import CodePointDfa

MAX_TEXTS: Final = 8
"""Strings of an automaton that are few."""

_MAX_STATES: Final = 256
"""States of an automaton that is looked at."""

_known: Final[WeakKeyDictionary[CodePointDfa, tuple[str, ...] | None]] = WeakKeyDictionary()


def few_texts(content: CodePointDfa) -> tuple[str, ...] | None:
    """All strings of an automaton, at most MAX_TEXTS; None where there are more, or long ones."""
    if content not in _known:
        _known[content] = _find(content)
    return _known[content]


def _find(content: CodePointDfa) -> tuple[str, ...] | None:
    if isinstance(content, StringList) or content.num_states > _MAX_STATES:
        return None
    characters = _characters(content)
    if characters is None:
        return None
    rows, accepting = content.next_state.tolist(), content.accepting.tolist()
    found: list[str] = []
    pending = [] if content.is_empty else [(content.start, "")]
    for state, text in pending:  # grows while it is read
        if accepting[state]:
            found.append(text)
        for symbol, target in enumerate(rows[state]):
            if target != DEAD:
                pending += [(target, text + character) for character in characters[symbol]]
        # Every state leads to an end: so many beginnings are as many strings, or a circle.
        if len(found) > MAX_TEXTS or len(pending) > MAX_TEXTS * _MAX_STATES:
            return None
    return tuple(found)


def _characters(content: CodePointDfa) -> list[str] | None:
    """The characters of each class; None where they are not few."""
    starts, classes = content.range_start.tolist(), content.range_class.tolist()
    characters = [""] * (max(classes) + 1)
    for i, number in enumerate(classes):
        if number == 0:
            continue
        end = starts[i + 1] if i + 1 < len(starts) else None
        if end is None or end - starts[i] > MAX_TEXTS:
            return None
        characters[number] += "".join(map(chr, range(starts[i], end)))
    return characters
