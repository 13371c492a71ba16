"""TokenSpelling: the tokens that texts are spelled in, to count the fewest that a text takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammars.automata.dfa import NUM_BYTES
from grammars.masks.token_symbols import build_token_symbols
from grammars.masks.trie import build_trie

if TYPE_CHECKING:
    from grammars.masks.trie import Trie
    from grammars.vocabulary import Vocabulary


class TokenSpelling(NamedTuple):
    """The tokens of a vocabulary, or single bytes.

    Attributes:
        texts: of the tokens.
        longest: bytes of the longest one.
        trie: of the tokens.
    """

    texts: frozenset[bytes]
    longest: int
    trie: Trie


def in_tokens(vocabulary: Vocabulary) -> TokenSpelling:
    """Spelling in tokens; use it through `Vocabulary.derive`."""
    texts = frozenset(vocabulary.token_bytes.values())
    return TokenSpelling(texts, max(map(len, texts)), vocabulary.derive(build_token_symbols).trie)


def in_bytes() -> TokenSpelling:
    """Spelling byte by byte."""
    symbols = np.arange(NUM_BYTES, dtype=np.uint16)
    begin = np.arange(NUM_BYTES, dtype=np.int32)
    trie = build_trie(symbols, begin, begin + 1, begin)
    return TokenSpelling(frozenset(bytes((byte,)) for byte in range(NUM_BYTES)), 1, trie)
