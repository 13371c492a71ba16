"""Overlaps: what terminals have in common that one lexer looks for at the same time."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from grammars.automata.dfa import DEAD
from grammars.automata.lexer import LexerBuilder
from grammars.cfg.follow import bit_set, members
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.cfg.follow import LetterSet, TerminalSet

MAX_TABLE_ENTRIES: Final = 1 << 24
"""States times letters of one such lexer: 64 MiB."""

MAX_COMPARED_STATES: Final = 1_000_000
"""States of the terminals in all sets of one grammar."""


class Overlap(NamedTuple):
    """What some terminals have in common.

    Args:
        same_text: sets of terminals that share a text, ascending; those of one alone left out.
        reads_on: by terminal, the letters with which one of them may read on where it has ended.
    """

    same_text: tuple[tuple[int, ...], ...]
    reads_on: dict[int, LetterSet]


class Overlaps:
    """The overlaps in sets of terminals: one lexer of all in a set tells them.

    Args:
        terminals: their automata over letters.
        max_states: deterministic states of one lexer.
    """

    def __init__(self, terminals: Sequence[Dfa], max_states: int) -> None:
        self._terminals = terminals
        num_letters = max(len(dfa.symbol_class) for dfa in terminals)
        self._max_states = min(max_states, MAX_TABLE_ENTRIES // num_letters)
        self._num_compared = 0
        self._known: dict[TerminalSet, Overlap] = {}

    def of(self, terminals: TerminalSet) -> Overlap:
        """What the terminals of a set have in common.

        Raises:
            LimitExceededError: their lexer needs too many states, or all such lexers together.
        """
        known = self._known.get(terminals)
        if known is None:
            known = self._known[terminals] = self._find(terminals)
        return known

    def _find(self, terminals: TerminalSet) -> Overlap:
        builder = LexerBuilder(self._max_states)
        for terminal in members(terminals):
            self._num_compared += self._terminals[terminal].num_states
            end = builder.embed(LexerBuilder.start, self._terminals[terminal])
            builder.accept(end, terminal)
        if self._num_compared > MAX_COMPARED_STATES:
            raise LimitExceededError(
                "max_compared_states", MAX_COMPARED_STATES, "a comparison of all terminals"
            )
        lexer = builder.determinise()
        reads_on: defaultdict[int, LetterSet] = defaultdict(int)
        for label, ended in enumerate(lexer.items, 1):
            letters = live_letters(lexer.dfa, lexer.dfa.label == label)
            for terminal in ended:
                reads_on[terminal] |= letters
        same_text = sorted(tuple(sorted(ended)) for ended in lexer.items if len(ended) > 1)
        return Overlap(tuple(same_text), dict(reads_on))


def live_letters(dfa: Dfa, is_chosen: NDArray[np.bool_]) -> LetterSet:
    """The letters that lead on from any of the states.

    Args:
        dfa: over letters.
        is_chosen: bool, (num_states,); the states.
    """
    leads_on = (dfa.next_state[is_chosen] != DEAD).any(axis=0)
    return bit_set(leads_on[dfa.symbol_class])
