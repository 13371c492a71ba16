"""LeavingTokens: tokens that stay in a string, and in none of the earlier texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.masks.token_symbols import build_token_symbols
from grammars.masks.trie_children import TrieChildren

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.earlier_words import EarlierWords
    from grammars.vocabulary import Vocabulary


class LeavingTokens:
    """Finds them; use it through `Vocabulary.derive`."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._trie = vocabulary.derive(build_token_symbols).trie
        self._children = vocabulary.derive(TrieChildren)
        self._stay_inside = np.zeros(vocabulary.padded_size, np.bool_)
        for token_id, data in vocabulary.token_bytes.items():
            self._stay_inside[token_id] = b'"' not in data and b"\\" not in data

    def find(self, words: EarlierWords) -> NDArray[np.bool_]:
        """bool, (padded_size,): those of some earlier words."""
        found = self._stay_inside.copy()
        for word in words:
            node: int | None = 0
            for symbol in word:
                assert node is not None
                node = self._children.of(node).get(symbol)
                if node is None:
                    break
                found[self._trie.tokens_between(node, node + 1)] = False
        return found
