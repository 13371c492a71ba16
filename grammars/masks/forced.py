"""Forced tokens: from symbols that must follow to the tokens that a model would write."""

from __future__ import annotations

from itertools import accumulate, groupby
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import NUM_BYTES
from grammars.masks.trie import extends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.trie import Trie
    from grammars.vocabulary import Vocabulary


def settled_tokens(
    symbols: list[int], is_live: NDArray[np.bool_], vocabulary: Vocabulary, trie: Trie
) -> list[int]:
    """The canonical tokens of forced symbols, as far as no choice after them can change a token.

    The text goes on after the symbols, and a token may reach over their end. Then the last tokens
    of the symbols alone are not the model's own: with `"Jo` forced and `hn` or `sh` to come, it
    would write `"`, `John`. So they are cut off from where a longer token could begin.

    Args:
        symbols: bytes and control symbols that must follow.
        is_live: bool, (num_symbols,); which may come after them.
        vocabulary: the tokens.
        trie: of the vocabulary.
    """
    token_ids: list[int] = []
    runs = [(is_text, list(run)) for is_text, run in groupby(symbols, lambda s: s < NUM_BYTES)]
    for index, (is_text, run) in enumerate(runs):
        if not is_text:
            token_ids += [vocabulary.control_token_id(symbol) for symbol in run]
        elif index < len(runs) - 1:
            token_ids += vocabulary.encode(bytes(run))
        else:
            token_ids += _settled_text(bytes(run), is_live, vocabulary, trie)
    return token_ids


def _settled_text(
    data: bytes, is_live: NDArray[np.bool_], vocabulary: Vocabulary, trie: Trie
) -> list[int]:
    whole = _whole_characters(data)
    if whole < len(data):
        is_live = np.zeros_like(is_live)
        is_live[data[whole]] = True
        data = data[:whole]
    token_ids = vocabulary.encode(data)
    lengths = [len(vocabulary.token_bytes[token_id]) for token_id in token_ids]
    for index, begin in enumerate([0, *accumulate(lengths)][:-1]):
        rest = np.frombuffer(data[begin:], np.uint8).astype(np.uint16)
        if extends(trie, rest, is_live):
            return token_ids[:index]
    return token_ids


def _whole_characters(data: bytes) -> int:
    """How many bytes are left when a UTF-8 character that is cut off at the end is left out."""
    for length in range(1, min(3, len(data)) + 1):
        byte = data[-length]
        if byte >= 0xC0:  # a lead byte: of 2, 3 or 4 bytes (RFC 3629, section 3)
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) if length >= needed else len(data) - length
        if byte < 0x80:
            break
    return len(data)
