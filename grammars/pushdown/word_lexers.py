"""word_lexer: the lexer of a few words and declared keys, written down as a trie.

What most places of a schema read are words: keys, brackets, commas, `true`. Their trie is a
deterministic automaton as it stands, so the subset construction of `lexers` is not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import NUM_BYTES, Dfa
from grammars.automata.lexer import Lexer
from grammars.pushdown.terminals import Key, Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammars.pushdown.terminals import Terminal

MAX_WORD_BYTES: Final = 4096
"""Longer lists of words are left to the kernels."""


def word_lexer(terminals: Sequence[Terminal]) -> Lexer | None:
    """The lexer whose item i is the i-th terminal; None where a terminal is no word."""
    trie = _Trie()
    num_bytes = 0
    for item, terminal in enumerate(terminals):
        match terminal:
            case Word((bytes(word),), gap):
                trie.accept(trie.extend(_ROOT, word), gap, item)
            case Key(spelling, follows, gap):
                word = spelling
                trie.accept(trie.extend(trie.member(gap, follows=follows), word + b":"), gap, item)
            case _:
                return None
        num_bytes += len(word)
        if num_bytes > MAX_WORD_BYTES:
            return None
    return trie.lexer() if trie.close() else None


_ROOT: Final = 0


class _Trie:
    """Nodes by number; each node knows its children by byte, and the items that end there."""

    def __init__(self) -> None:
        self._children: list[dict[int, int]] = [{}]
        self._items: list[set[int]] = [set()]
        self._after_comma: dict[bytes, int] = {}  # gap -> the node after a comma and a gap

    def extend(self, node: int, word: bytes) -> int:
        """The node after `word`."""
        for byte in word:
            child = self._children[node].get(byte)
            if child is None:
                child = len(self._children)
                self._children[node][byte] = child
                self._children.append({})
                self._items.append(set())
            node = child
        return node

    def accept(self, node: int, gap: bytes, item: int) -> None:
        """Let `item` end at a node, and after a gap."""
        self._items[node].add(item)
        if gap:
            self._items[self.extend(node, gap)].add(item)

    def member(self, gap: bytes, *, follows: bool) -> int:
        """The node in which a key begins."""
        if not follows:
            return _ROOT
        known = self._after_comma.get(gap)
        if known is None:
            known = self._after_comma[gap] = self.extend(_ROOT, b"," + gap)
        return known

    def close(self) -> bool:
        """Let the gap after a comma be left out; False where other words are in the way."""
        comma = self._children[_ROOT].get(ord(","))
        for gap, node in self._after_comma.items():
            assert comma is not None
            if gap and not self._children[comma].keys().isdisjoint(self._children[node]):
                return False
            self._children[comma] |= self._children[node]
        return True

    def lexer(self) -> Lexer:
        """Node n is state n + 1; every byte that occurs has a class of its own."""
        source: list[int] = []
        byte: list[int] = []
        target: list[int] = []
        for node, children in enumerate(self._children):
            source += [node + 1] * len(children)
            byte += children.keys()
            target += children.values()
        used = sorted(set(byte))
        symbol_class = np.zeros(NUM_BYTES, np.uint16)
        symbol_class[used] = np.arange(1, len(used) + 1)
        next_state = np.zeros((len(self._children) + 1, len(used) + 1), np.int32)
        next_state[source, symbol_class[byte]] = np.array(target, np.int32) + 1
        labels: dict[frozenset[int], int] = {}
        label = np.zeros(len(next_state), np.int32)
        for node, items in enumerate(self._items):
            if items:
                label[node + 1] = labels.setdefault(frozenset(items), len(labels) + 1)
        is_boundary = np.zeros(len(next_state), np.bool_)
        return Lexer(Dfa(symbol_class, next_state, label, 1, is_boundary), tuple(labels), False)
