"""value_lexer: the lexer of JSON values, which their first bytes tell apart."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

import numpy as np

from grammars.automata.joining import join
from grammars.automata.lexer import Lexer
from grammars.pushdown.spelled_strings import spelled_strings
from grammars.pushdown.terminals import Numbers, Strings, Word
from grammars.pushdown.word_lexers import word_lexer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammars.automata.dfa import Dfa
    from grammars.pushdown.terminals import Terminal


def value_lexer(terminals: Sequence[Terminal], max_states: int) -> Lexer | None:
    """The lexer whose item i is the i-th terminal; None where they are not words and values.

    Args:
        terminals: what to read.
        max_states: states of each automaton in it.

    Raises:
        LimitExceededError: an automaton needs more than `max_states` states.
    """
    parts: list[Dfa] = []
    items: list[frozenset[int]] = []
    words: dict[int, Word] = {}  # by item
    for item, terminal in enumerate(terminals):
        if isinstance(terminal, Word):
            words[item] = terminal
        elif isinstance(terminal, (Numbers, Strings)):
            parts.append(_texts(terminal, max_states))
            items.append(frozenset((item,)))
        else:
            return None
    if not parts:
        return None
    if words:
        lexer = _word_lexer(tuple(words.values()))
        if lexer is None:
            return None
        numbers = [*words]
        parts.append(lexer.dfa)
        items += [frozenset(numbers[i] for i in alike) for alike in lexer.items]
    dfa = join(parts)
    return None if dfa is None else Lexer(dfa, tuple(items), count_conflict=False)


def _texts(terminal: Numbers | Strings, max_states: int) -> Dfa:
    """The texts of a terminal, under the label 1."""
    match terminal:
        case Numbers(dfa):
            is_counted = False
        case Strings(strings, is_counted, is_canonical):
            dfa = spelled_strings(strings, max_states, is_canonical=is_canonical)
        case _:
            assert_never(terminal)
    boundary = dfa.char_boundary if is_counted else np.zeros(dfa.num_states, np.bool_)
    return replace(dfa, label=np.minimum(dfa.label, 1), char_boundary=boundary)


@lru_cache(maxsize=256)
def _word_lexer(words: tuple[Word, ...]) -> Lexer | None:
    """Few different ones: `null`, `true`, brackets."""
    return word_lexer(words)
