"""MemberLexers: one lexer for all places inside objects, which each place sees through a window.

After key k of n an object reads keys k + 1 to n, another one, or the closing bracket: n lexers that
differ in what is left out. Instead all places share the lexer of all keys, and a place has a
window: the labels that it reads. A byte is read only if a label of the window can still be reached
(`StateColumn.WINDOW`, `LexerColumn.REACH`). The place before the first member is one of them, with
a start of its own. The texts are the same, the automata are made once.

A lexer of many keys has *far* labels (see `layout.MAX_WINDOW_LABELS`), which read a declared key
each, in the order in which these are spelled: a trie of words has what begins alike side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import NO_LABEL
from grammars.automata.lexer import Lexer
from grammars.automata.reach import label_spans, reachable_labels
from grammars.byte_lru import ByteLru
from grammars.errors import LimitExceededError
from grammars.pushdown.layout import FIRST_FAR_LABEL, MAX_WINDOW_LABELS
from grammars.pushdown.layouts import Closing, spell
from grammars.pushdown.lexers import lexer_of
from grammars.pushdown.transitions import member_terminal
from grammars.pushdown.word_lexers import member_lexer

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from grammars.pushdown.configs import ObjectMember
    from grammars.pushdown.layouts import JsonContext, MemberKey
    from grammars.pushdown.tables import AutomatonTables

MIN_KEYS: Final = 1
"""Objects of fewer keys share nothing."""


MAX_KEYS_LISTED: Final = 64
"""Where a label reads more keys, as in hundreds of open objects, it is not listed with each."""

_CACHE_BYTES: Final = 32 * 1024 * 1024
_LEXER_BYTES: Final = 2048
_KEY_BYTES: Final = 400


@dataclass(frozen=True, slots=True, eq=False)
class MemberLexer:
    """The lexer of all keys of some objects.

    Args:
        lexer: item i reads key i; its last state is where the first member begins.
        keys: in order of items.
        labels: those that read a key, wide ones left out.
        wide_labels: those that read more than MAX_KEYS_LISTED keys, ascending.
        reach: int64, (num_states,), see `reachable_labels`.
        far_spans: int32, (num_states, 2), see `label_spans`; None where there are no far labels.
    """

    lexer: Lexer
    keys: tuple[MemberKey, ...]
    labels: dict[MemberKey, list[int]]
    wide_labels: tuple[int, ...]
    reach: NDArray[np.int64]
    far_spans: NDArray[np.int32] | None

    @property
    def first(self) -> int:
        """The state of the automaton in which the first member begins."""
        return self.lexer.dfa.num_states - 1

    def keys_of(self, label: int) -> frozenset[MemberKey]:
        """The keys that end with a label."""
        return frozenset(self.keys[item] for item in self.lexer.items[label - 1])

    def window(self, keys: Iterable[MemberKey]) -> int:
        """Bits of the labels that read some keys."""
        wanted = frozenset(keys)
        bits = bits_of(label for key in wanted for label in self.labels[key])
        if not self.wide_labels:
            return bits
        items = frozenset(item for item, key in enumerate(self.keys) if key in wanted)
        read = (self.lexer.items[label - 1] for label in self.wide_labels)
        of_read = zip(self.wide_labels, read, strict=True)
        return bits | bits_of(label for label, found in of_read if not items.isdisjoint(found))


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
            found = self._find(keys, members[0].context) if len(keys) >= MIN_KEYS else None
            if found is not None:
                base = self._tables.lexers.add_dfa(found.lexer.dfa)
                self._tables.lexers.set_reach(base, found.reach)
                if found.far_spans is not None:
                    self._tables.lexers.set_far_spans(base, found.far_spans)
            self._known[key] = found
        return self._known[key]

    def _find(self, keys: tuple[MemberKey, ...], context: JsonContext) -> MemberLexer | None:
        common = (self._max_states, self._missing_bytes)
        key = (keys, context.gap, context.has_distinct_keys, common)
        known = _cache.get(key)
        if known is None:
            known = self._make(keys, context)
            if known is not None:
                dfa = known.lexer.dfa
                num_bytes = dfa.next_state.nbytes + 64 * dfa.num_states
                _cache.put(key, known, num_bytes + _LEXER_BYTES + _KEY_BYTES * len(keys))
        return known

    def _make(self, keys: tuple[MemberKey, ...], context: JsonContext) -> MemberLexer | None:
        if len(keys) < MAX_WINDOW_LABELS:
            keys = (*keys, Closing.BRACKET)
            lexer = self._lexer(keys, context)
            if len(lexer.items) <= MAX_WINDOW_LABELS:
                return _member_lexer(lexer, keys)
        keys = (Closing.BRACKET, *_as_spelled(keys))
        try:
            lexer = self._lexer(keys, context)
        except LimitExceededError:
            return None  # a place reads fewer of them
        ordered = _with_far_labels(lexer, keys)
        return None if ordered is None else _member_lexer(ordered, keys)

    def _lexer(self, keys: tuple[MemberKey, ...], context: JsonContext) -> Lexer:
        if not self._missing_bytes:
            words = member_lexer(keys, context.gap)
            if words is not None and words.dfa.num_states <= self._max_states:
                return words
        terminals = (member_terminal(key, context, follows=True) for key in keys)
        return lexer_of(tuple(terminals), self._max_states, self._missing_bytes, has_first=True)


def _member_lexer(lexer: Lexer, keys: tuple[MemberKey, ...]) -> MemberLexer:
    labels: dict[MemberKey, list[int]] = {key: [] for key in keys}
    wide_labels = []
    for label, items in enumerate(lexer.items, 1):
        if len(items) > MAX_KEYS_LISTED:
            wide_labels.append(label)
            continue
        for item in items:
            labels[keys[item]].append(label)
    dfa = lexer.dfa
    reach = reachable_labels(dfa.next_state, dfa.label)
    is_wide = len(lexer.items) > MAX_WINDOW_LABELS
    spans = label_spans(dfa.next_state, dfa.label, FIRST_FAR_LABEL) if is_wide else None
    return MemberLexer(lexer, keys, labels, tuple(wide_labels), reach, spans)


def _as_spelled(keys: Iterable[MemberKey]) -> list[MemberKey]:
    """Languages of keys, then declared keys in the order of their spelling."""
    words = sorted((key for key in keys if isinstance(key, str)), key=spell)
    return [*(key for key in keys if not isinstance(key, str)), *words]


def _with_far_labels(lexer: Lexer, keys: Sequence[MemberKey]) -> Lexer | None:
    """A lexer with its labels in such an order that those past the near ones may be far.

    None where too many labels read more than a declared key; they come first.

    Args:
        lexer: item i reads key i.
        keys: in the order of `_as_spelled`.
    """
    words = frozenset(item for item, key in enumerate(keys) if isinstance(key, str))
    word_of = [max(items & words, default=0) for items in lexer.items]
    if sum(word == 0 for word in word_of) > MAX_WINDOW_LABELS:
        return None
    order = sorted(range(len(word_of)), key=word_of.__getitem__)
    if order == [*range(len(word_of))]:
        return lexer
    dfa = lexer.dfa
    renumber = np.full(len(order) + 1, NO_LABEL, dfa.label.dtype)
    renumber[np.array(order) + 1] = np.arange(1, len(order) + 1)
    relabelled = replace(dfa, label=renumber[dfa.label])
    return Lexer(relabelled, tuple(lexer.items[old] for old in order), lexer.count_conflict)


def bits_of(labels: Iterable[int]) -> int:
    """Bit l - 1 is set for each label l."""
    bits = 0
    for label in labels:
        bits |= 1 << label - 1
    return bits


def keys_at(member: ObjectMember) -> list[MemberKey]:
    """The keys that an object reads at its place, each perhaps more than once."""
    keys: list[MemberKey] = []
    for step in member.layout.steps(member.place):
        assert step.key is not None
        keys.append(step.key)
    if member.layout.may_close(member.place):
        keys.append(Closing.BRACKET)
    return keys
