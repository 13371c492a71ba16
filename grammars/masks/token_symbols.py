"""TokenSymbols: the tokens of a vocabulary as strings of symbols, and the trie of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import NUM_BYTES
from grammars.masks.subtrees import Subtrees, build_subtrees
from grammars.masks.trie import Trie, build_trie

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
        trie: of all strings that are not empty.
        subtrees: of the trie.
        longest: symbols of the longest token.
        quoted: the row of `trie.children` for strings that begin with a quote; None where none do.
    """

    symbols: NDArray[np.uint16]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    trie: Trie
    subtrees: Subtrees
    longest: int
    quoted: int | None

    def string(self, token_id: int) -> NDArray[np.uint16]:
        """The symbols of a token."""
        begin, end = int(self.begin[token_id]), int(self.end[token_id])
        return self.symbols[begin:end]


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
    return TokenSymbols(
        symbols,
        begin,
        end,
        trie,
        build_subtrees(trie),
        longest=int(lengths.max()),
        quoted=trie.root_entry(ord('"')),
    )
