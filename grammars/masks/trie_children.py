"""TrieChildren: the children of trie nodes by symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.masks.token_symbols import build_token_symbols

if TYPE_CHECKING:
    from grammars.vocabulary import Vocabulary

_MANY: Final = 16
"""Children of a node that are remembered; fewer are found again as fast."""


class TrieChildren:
    """Finds children in the trie of a vocabulary; use it through `Vocabulary.derive`.

    What it remembers is bounded by the trie.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._trie = vocabulary.derive(build_token_symbols).trie
        self._known: dict[int, dict[int, int]] = {}

    def of(self, node: int) -> dict[int, int]:
        """The children of a node: symbol -> node."""
        known = self._known.get(node)
        if known is None:
            known = {}
            child, end = node + 1, self._trie.subtree_end(node)
            while child < end:
                known[self._trie.symbol(child)] = child
                child = self._trie.subtree_end(child)
            if len(known) >= _MANY:
                self._known[node] = known
        return known
