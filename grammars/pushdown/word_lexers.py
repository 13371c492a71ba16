"""word_lexer: the lexer of a few words and declared keys, written down as a trie.

What most places of a schema read are words: keys, brackets, commas, `true`. Their trie is a
deterministic automaton as it stands, so the subset construction of `lexers` is not needed. Nor is
it for the other keys of an object: where a text leaves the trie of the declared keys, it goes on as
any string does, and a declared key is not among the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import NO_LABEL, Dfa
from grammars.automata.json_string import any_json_string
from grammars.automata.lexer import Lexer
from grammars.pushdown.layouts import Closing, spell
from grammars.pushdown.terminals import Key, OtherKey, Word
from grammars.pushdown.word_trie import NO_ITEM, word_trie
from grammars.schema.plans import AllBut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grammars.pushdown.layouts import MemberKey
    from grammars.pushdown.terminals import Terminal

MAX_WORD_BYTES: Final = 4096
"""Longer lists of words are left to the kernels of `lexers`: a trie is not minimal."""

MAX_DECLARED_BYTES: Final = 768
"""Likewise for the declared keys of an object with others, each byte of which has a wide row."""

MAX_MEMBER_BYTES: Final = 1 << 17
"""Of the keys of an object that are read by one automaton: each has its own label, which leaves
little to the minimiser, and none of them is a short cut."""


def word_lexer(terminals: Sequence[Terminal], *, has_first: bool = False) -> Lexer | None:
    """The lexer whose item i is the i-th terminal; None where a terminal is no word.

    Args:
        terminals: what to read.
        has_first: see `lexer_of`.
    """
    items: dict[Terminal, list[int]] = {}
    for item, terminal in enumerate(terminals):
        items.setdefault(terminal, []).append(item)
    words = _Words()
    if not all(words.add(terminal, label) for label, terminal in enumerate(items)):
        return None
    dfa = words.automaton(has_first=has_first)
    return None if dfa is None else Lexer(dfa, tuple(map(frozenset, items.values())), False)


def member_lexer(keys: Sequence[MemberKey], gap: bytes) -> Lexer | None:
    """The lexer whose item i is the i-th key of an object, as members after another.

    It is `word_lexer` of their terminals, with a first; only made with less ado.

    Args:
        keys: distinct, and not the closing bracket alone.
        gap: bytes that may stand after a comma and a colon, or b"".
    """
    words = _Words(
        gap=gap,
        members=(True, gap),
        max_bytes=MAX_MEMBER_BYTES,
        max_declared_bytes=MAX_MEMBER_BYTES,
    )
    if not all(words.add_key(key, item) for item, key in enumerate(keys)):
        return None
    dfa = words.automaton(has_first=True)
    return None if dfa is None else Lexer(dfa, _single_items(len(keys)), False)


@lru_cache(maxsize=256)
def _single_items(count: int) -> tuple[frozenset[int], ...]:
    return tuple(frozenset((item,)) for item in range(count))


@dataclass(slots=True)
class _Words:
    """The arguments of `word_trie`, as they are collected.

    All members of a lexer follow the same; where they do not, or gaps differ, `add` says False.
    """

    words: list[bytes] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    is_member: list[bool] = field(default_factory=list)
    has_gap: list[bool] = field(default_factory=list)
    gap: bytes = b""
    members: tuple[bool, bytes] | None = None
    declared: frozenset[bytes] | None = None
    other_item: int = NO_ITEM
    max_bytes: int = MAX_WORD_BYTES
    max_declared_bytes: int = MAX_DECLARED_BYTES

    def add(self, terminal: Terminal, item: int) -> bool:
        """Note a terminal; False where the trie cannot have it."""
        match terminal:
            case Word((bytes(word),), gap) if not word.startswith(b'"'):
                return self._note(word, item, gap, is_member=False)
            case Key(word, follows, gap):
                return self._is_alike(follows, gap) and self._note(word, item, gap)
            case OtherKey(AllBut(names), follows, gap) if names and self.declared is None:
                is_alike = self._is_alike(follows, gap) and self._is_gap(gap)
                return is_alike and self._add_others(names, item)
            case _:
                return False

    def add_key(self, key: MemberKey, item: int) -> bool:
        """Note a key of an object; False where the trie cannot have it."""
        match key:
            case Closing():
                return self._note(b"}", item, b"", is_member=False)
            case str():
                return self._note(spell(key), item, self.gap)
            case AllBut(names) if names and self.declared is None:
                return self._add_others(names, item)
            case _:
                return False

    def automaton(self, *, has_first: bool) -> Dfa | None:
        """The trie; None where it is none."""
        if self.declared is not None:
            keys = [word for word, member in zip(self.words, self.is_member, strict=True) if member]
            if not self.declared.issuperset(keys):
                return None  # a key of one object is among the others of another
            for word in sorted(self.declared.difference(keys)):
                self._note(word, NO_ITEM, b"")
        text = b"".join(self.words)
        if len(text) > self.max_bytes:
            return None
        any_key, end = _any_key()
        follows, member_gap = self.members or (False, b"")
        symbol_class, next_state, label = word_trie(
            np.frombuffer(bytearray(text), np.uint8),
            np.fromiter(accumulate(map(len, self.words)), np.int32, len(self.words)),
            np.array(self.items, np.int32),
            np.array(self.is_member, np.bool_),
            np.array(self.has_gap, np.bool_),
            ord(self.gap) if self.gap else 0,
            ord(member_gap) if member_gap else 0,
            follows,
            has_first,
            self.other_item,
            any_key.next_state,
            any_key.symbol_class,
            any_key.start,
            end,
        )
        if not len(next_state):
            return None
        return Dfa(symbol_class, next_state, label, 1, np.zeros(len(label), np.bool_))

    def _add_others(self, declared: frozenset[str], item: int) -> bool:
        self.declared = frozenset(map(spell, declared))
        self.other_item = item
        return sum(map(len, self.declared)) <= self.max_declared_bytes

    def _note(self, word: bytes, item: int, gap: bytes, *, is_member: bool = True) -> bool:
        self.words.append(word)
        self.items.append(item)
        self.is_member.append(is_member)
        self.has_gap.append(bool(gap))
        return self._is_gap(gap)

    def _is_gap(self, gap: bytes) -> bool:
        """Whether this is the gap of all, if it is one."""
        if gap and not self.gap:
            self.gap = gap
        return len(gap) <= 1 and gap in (b"", self.gap)

    def _is_alike(self, follows: bool, gap: bytes) -> bool:
        """Whether a member stands where the others stand."""
        self.members = self.members or (follows, gap)
        return self.members == (follows, gap)


@lru_cache(maxsize=1)
def _any_key() -> tuple[Dfa, int]:
    """The automaton of any key, and its final state."""
    any_key = any_json_string("canonical")
    final: NDArray[np.intp] = np.flatnonzero(any_key.label != NO_LABEL)
    return any_key, int(final[0])
