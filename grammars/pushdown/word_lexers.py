"""word_lexer: the lexer of a few words and declared keys, written down as a trie.

What most places of a schema read are words: keys, brackets, commas, `true`. Their trie is a
deterministic automaton as it stands, so the subset construction of `lexers` is not needed. Nor is
it for the other keys of an object: where a text leaves the trie of the declared keys, it goes on as
any string does, and a declared key is not among the others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.classes import merge_columns
from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES, Dfa
from grammars.automata.json_string import any_json_string
from grammars.automata.lexer import Lexer
from grammars.pushdown.layouts import spell
from grammars.pushdown.terminals import Key, OtherKey, Word
from grammars.schema.plans import AllBut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grammars.pushdown.terminals import Terminal

MAX_WORD_BYTES: Final = 4096
"""Longer lists of words are left to the kernels."""

MAX_DECLARED_BYTES: Final = 768
"""Likewise for the declared keys of an object with others: its trie is not minimal."""


def word_lexer(terminals: Sequence[Terminal]) -> Lexer | None:
    """The lexer whose item i is the i-th terminal; None where a terminal is no word."""
    if sum(map(_num_bytes, terminals)) > MAX_WORD_BYTES:
        return None
    trie = _Trie()
    keys: set[bytes] = set()
    declared: list[bytes] = []
    for item, terminal in enumerate(terminals):
        match terminal:
            case Word((bytes(word),), gap) if not word.startswith(b'"'):
                trie.accept(trie.extend(_ROOT, word), gap, item)
            case Key(word, follows, gap):
                keys.add(word)
                trie.accept(trie.extend(trie.member(gap, follows=follows), word + b":"), gap, item)
            case OtherKey(AllBut(names), follows, gap) if names and not declared:
                declared = [spell(name) for name in names]
                if sum(map(len, declared)) > MAX_DECLARED_BYTES:
                    return None
                if not trie.add_others(trie.member(gap, follows=follows), declared, gap, item):
                    return None
            case _:
                return None
    if declared and not keys.issubset(declared):
        return None  # a key of one object is among the others of another
    return trie.lexer() if trie.close() else None


def _num_bytes(terminal: Terminal) -> int:
    """Bytes of a word or a declared key."""
    match terminal:
        case Word(pieces):
            return sum(len(piece) for piece in pieces if isinstance(piece, bytes))
        case Key(spelling):
            return len(spelling)
        case _:
            return 0


_ROOT: Final = 0


class _Trie:
    """Nodes by number; each node knows its children by byte, and the items that end there.

    A node inside a key also knows how any string goes on, see `add_others`.
    """

    def __init__(self) -> None:
        self._rows: dict[int, NDArray[np.int32]] = {}
        self._no_end: list[int] = []  # declared keys that are complete but for the quote
        self._children: list[dict[int, int]] = [{}]
        self._items: list[set[int]] = [set()]
        self._after_comma: dict[bytes, int] = {}  # gap -> the node after a comma and a gap

    def extend(self, node: int, word: bytes) -> int:
        """The node after `word`."""
        for byte in word:
            child = self._children[node].get(byte)
            if child is None:
                child = self._children[node][byte] = self._new_node()
            node = child
        return node

    def _new_node(self) -> int:
        self._children.append({})
        self._items.append(set())
        return len(self._children) - 1

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

    def add_others(self, member: int, declared: list[bytes], gap: bytes, item: int) -> bool:
        """Let `item` read all keys but the declared ones.

        Args:
            member: the node in which a key begins.
            declared: as JSON strings.
            gap: bytes that may follow the colon.
            item: of the other keys.

        Returns:
            False where a declared key is not written as the others are.
        """
        table, end = _any_key()
        any_key = any_json_string("canonical")
        nodes = np.zeros(len(table), np.int32)  # of the states of any key
        for state in range(1, len(table)):
            if state not in (any_key.start, end):
                nodes[state] = self._new_node()
        nodes[end] = self._new_node()
        self.accept(self.extend(int(nodes[end]), b":"), gap, item)
        rows = nodes[table]
        for state in range(1, len(table)):
            if state not in (any_key.start, end):
                self._rows[int(nodes[state])] = rows[state]
        for word in declared:
            node, state = member, any_key.start
            for byte in word[:-1]:
                node, state = self.extend(node, bytes((byte,))), int(table[state, byte])
                self._rows[node] = rows[state]
            if table[state, word[-1]] != end:
                return False
            self._no_end.append(node)
        return True

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
        if self._rows:
            table = np.zeros((len(self._children) + 1, NUM_BYTES), np.int32)
            inside = np.array([*self._rows])
            rows = np.stack([*self._rows.values()])
            table[inside + 1] = np.where(rows == DEAD, DEAD, rows + 1)
            table[np.array(self._no_end) + 1, ord('"')] = DEAD
            table[source, byte] = np.array(target, np.int32) + 1
            classes, next_state = merge_columns(table, np.arange(NUM_BYTES, dtype=np.int32))
            symbol_class = classes.astype(np.uint16)
        else:
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


@lru_cache(maxsize=1)
def _any_key() -> tuple[NDArray[np.int32], int]:
    """The automaton of any key by state and byte, int32, (num_states, 256), and its final state."""
    any_key = any_json_string("canonical")
    final = int(np.flatnonzero(any_key.label != NO_LABEL)[0])
    return any_key.next_state[:, any_key.symbol_class[:NUM_BYTES]], final
