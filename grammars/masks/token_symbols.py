"""TokenSymbols: the tokens of a vocabulary as strings of symbols, and the trie of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import NUM_BYTES
from grammars.masks.trie import Trie, build_trie, find_child, find_first_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class TokenSymbols:
    """A text token is the string of its bytes, a control token is its one symbol.

    Args:
        symbols: uint16, flat; all strings.
        begin: int32, (padded_size,); token t is `symbols[begin[t] : end[t]]`. Ids that no grammar
            can name (end tokens, rows without a token) have empty strings.
        end: int32, (padded_size,).
        sortable: `symbols` as bytes that compare as they do; two for each symbol.
        trie: of all strings that are not empty.
        longest: symbols of the longest token.
    """

    symbols: NDArray[np.uint16]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    sortable: bytes
    trie: Trie
    longest: int
    _subtries: dict[int, SubTrie] = field(default_factory=dict, repr=False)

    def beginning_with(self, symbol: int, num_words: int) -> SubTrie:
        """The tokens that begin with a symbol; a bitmask row has `num_words` words."""
        known = self._subtries.get(symbol)
        if known is None:
            known = self._subtries[symbol] = SubTrie.of(self.trie, symbol, num_words)
        return known


@dataclass(frozen=True, slots=True, eq=False)
class SubTrie:
    """The tokens that begin with one symbol.

    Args:
        trie: of these tokens.
        others: a bitmask row, uint32, of all other tokens.
    """

    trie: Trie
    others: NDArray[np.uint32]

    @classmethod
    def of(cls, trie: Trie, symbol: int, num_words: int) -> SubTrie:
        """Cut it out of the trie of all tokens; its arrays are copies, so that it keeps nothing."""
        node = find_child(trie, 0, symbol)
        if node is None:
            begin = end = 1
        else:
            begin, end = node, int(trie.subtree_end[node])
        tokens = slice(int(trie.first_token[begin]), int(trie.first_token[end]))
        symbols = np.concatenate(([np.uint16(0)], trie.symbol[begin:end]))
        ends = np.concatenate(
            ([np.int32(1 + end - begin)], trie.subtree_end[begin:end] - (begin - 1))
        )
        part = Trie(
            symbols,
            np.concatenate(([np.int32(0)], trie.depth[begin:end])),
            ends,
            np.concatenate(([np.int32(0)], trie.first_token[begin : end + 1] - tokens.start)),
            trie.token_ids[tokens].copy(),
            find_first_nodes(symbols, ends),
        )
        is_other = np.ones(32 * num_words, np.bool_)
        is_other[part.token_ids] = False
        return cls(part, np.packbits(is_other, bitorder="little").view(np.uint32))


def build_token_symbols(vocabulary: Vocabulary) -> TokenSymbols:
    """The symbols of every token of `vocabulary`; use it through `Vocabulary.derive`."""
    text_ids = np.fromiter(vocabulary.token_bytes, np.int32)
    texts = list(vocabulary.token_bytes.values())
    control_indices = [
        index
        for index, control in enumerate(vocabulary.controls)
        if control.token_id not in vocabulary.end_token_ids
    ]
    control_ids = np.array(
        [vocabulary.controls[index].token_id for index in control_indices], np.int32
    )
    symbols = np.concatenate(
        (
            np.frombuffer(b"".join(texts), np.uint8).astype(np.uint16),
            np.array(control_indices, np.uint16) + np.uint16(NUM_BYTES),
        )
    )
    token_ids = np.concatenate((text_ids, control_ids))
    lengths = np.array([*map(len, texts), *([1] * len(control_ids))], np.int32)
    begin = np.zeros(vocabulary.padded_size, np.int32)
    end = np.zeros(vocabulary.padded_size, np.int32)
    end[token_ids] = np.cumsum(lengths)
    begin[token_ids] = end[token_ids] - lengths
    alphabetic = text_ids[sorted(range(len(texts)), key=texts.__getitem__)]
    order = np.concatenate((alphabetic, control_ids))  # control symbols come after all bytes
    trie = build_trie(symbols, begin[order], end[order], order)
    sortable = symbols.astype(">u2").tobytes()
    return TokenSymbols(symbols, begin, end, sortable, trie, int(lengths.max()))
