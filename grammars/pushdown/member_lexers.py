"""MemberLexers: one lexer for all places inside objects, which each place sees through a window.

After key k of n an object reads keys k + 1 to n, another one, or the closing bracket: n lexers that
differ in what is left out. Instead all places share the lexer of all keys, and a place has a
window: the labels that it reads. A byte is read only if a label of the window can still be reached
(`StateColumn.WINDOW`, `LexerColumn.REACH`). The place before the first member is one of them, with
a start of its own. The texts are the same, the automata are made once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grammars.automata.reach import reachable_labels
from grammars.byte_lru import ByteLru
from grammars.pushdown.layout import MAX_WINDOW_LABELS
from grammars.pushdown.layouts import Closing
from grammars.pushdown.lexers import lexer_of
from grammars.pushdown.transitions import member_terminal
from grammars.pushdown.word_lexers import member_lexer

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grammars.automata.lexer import Lexer
    from grammars.pushdown.configs import ObjectMember
    from grammars.pushdown.layouts import JsonContext, MemberKey
    from grammars.pushdown.tables import AutomatonTables

MIN_KEYS: Final = 1
"""Objects of fewer keys share nothing."""


_CACHE_BYTES: Final = 32 * 1024 * 1024
_LEXER_BYTES: Final = 2048


@dataclass(frozen=True, slots=True, eq=False)
class MemberLexer:
    """The lexer of all keys of some objects.

    Args:
        lexer: item i reads key i; its last state is where the first member begins.
        keys: in order of items.
        labels: bits of the labels that read a key.
        reach: int64, (num_states,), see `reachable_labels`.
    """

    lexer: Lexer
    keys: tuple[MemberKey, ...]
    labels: dict[MemberKey, int]
    reach: NDArray[np.int64]

    @property
    def first(self) -> int:
        """The state of the automaton in which the first member begins."""
        return self.lexer.dfa.num_states - 1

    def keys_of(self, label: int) -> frozenset[MemberKey]:
        """The keys that end with a label."""
        return frozenset(self.keys[item] for item in self.lexer.items[label - 1])


_cache: Final[ByteLru[Hashable, MemberLexer]] = ByteLru(_CACHE_BYTES)


class MemberLexers:
    """The member lexers of one grammar; equal ones of all grammars are one.

    Args:
        tables: where their automata are added.
        max_states: of a lexer and of each automaton in it.
        missing_bytes: bytes that the vocabulary cannot spell.
    """

    def __init__(
        self, tables: AutomatonTables, max_states: int, missing_bytes: frozenset[int]
    ) -> None:
        self._tables = tables
        self._max_states = max_states
        self._missing_bytes = missing_bytes
        self._known: dict[tuple[object, ...], MemberLexer | None] = {}

    def find(self, members: Sequence[ObjectMember]) -> MemberLexer | None:
        """The lexer of the objects that a state is in; None where it would be of no use.

        Args:
            members: of one context.
        """
        layouts = tuple(dict.fromkeys(member.layout for member in members))
        key = (members[0].context, *layouts)
        if key not in self._known:
            keys = tuple(dict.fromkeys(key for layout in layouts for key in layout.keys))
            is_useful = MIN_KEYS <= len(keys) < MAX_WINDOW_LABELS
            found = self._find((*keys, Closing.BRACKET), members[0].context) if is_useful else None
            if found is not None:
                base = self._tables.add_dfa(found.lexer.dfa)
                self._tables.set_reach(base, found.reach)
            self._known[key] = found
        return self._known[key]

    def _find(self, keys: tuple[MemberKey, ...], context: JsonContext) -> MemberLexer | None:
        common = (self._max_states, self._missing_bytes)
        key = (keys, context.gap, context.has_distinct_keys, common)
        known = _cache.get(key)
        if known is None:
            lexer = self._lexer(keys, context)
            if len(lexer.items) > MAX_WINDOW_LABELS:
                return None
            known = _member_lexer(lexer, keys)
            dfa = lexer.dfa
            _cache.put(key, known, dfa.next_state.nbytes + 64 * dfa.num_states + _LEXER_BYTES)
        return known

    def _lexer(self, keys: tuple[MemberKey, ...], context: JsonContext) -> Lexer:
        if not self._missing_bytes:
            words = member_lexer(keys, context.gap)
            if words is not None and words.dfa.num_states <= self._max_states:
                return words
        terminals = (member_terminal(key, context, follows=True) for key in keys)
        return lexer_of(tuple(terminals), self._max_states, self._missing_bytes, has_first=True)


def _member_lexer(lexer: Lexer, keys: tuple[MemberKey, ...]) -> MemberLexer:
    labels = dict.fromkeys(keys, 0)
    for label, items in enumerate(lexer.items):
        for item in items:
            labels[keys[item]] |= 1 << label
    reach = reachable_labels(lexer.dfa.next_state, lexer.dfa.label)
    return MemberLexer(lexer, keys, labels, reach)


def keys_at(member: ObjectMember) -> list[MemberKey]:
    """The keys that an object reads at its place, each perhaps more than once."""
    keys: list[MemberKey] = []
    for step in member.layout.steps(member.place):
        assert step.key is not None
        keys.append(step.key)
    if member.layout.may_close(member.place):
        keys.append(Closing.BRACKET)
    return keys
