"""What of tokens comes before some nodes of a trie, and what after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.masks.token_sorting import sort_strings
from grammars.masks.trie import build_trie

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grammars.masks.token_symbols import TokenSymbols
    from grammars.masks.trie import Trie


def beginning(tokens: TokenSymbols, trie: Trie, node: int) -> NDArray[np.uint16]:
    """What some token has been read when a walk is at a node, from the token's first symbol.

    Args:
        tokens: of the vocabulary.
        trie: of tokens, or of the rests of tokens that have begun in different ways.
        node: in it.
    """
    token_id, num_left = trie.first_token(node)
    string = tokens.string(token_id)
    return string[: len(string) - num_left]


def rests_of(tokens: TokenSymbols, trie: Trie, nodes: Sequence[int]) -> Trie:
    """The trie of what is left to read of all tokens that have come to some nodes.

    Args:
        tokens: of the vocabulary.
        trie: of tokens, or of rests of tokens.
        nodes: in it.
    """
    found = [trie.lengths_below(node) for node in nodes]
    token_ids = np.concatenate([below for below, _ in found])
    end = tokens.end[token_ids]
    begin = end - np.concatenate([lengths for _, lengths in found])
    order = sort_strings(tokens.symbols, begin, end)
    return build_trie(tokens.symbols, begin[order], end[order], token_ids[order])
