"""Token bitmasks: bit i of word j is token 32 * j + i, 1 where it is allowed."""

from __future__ import annotations

from typing import Final

BITS_PER_WORD: Final = 32


def bitmask_width(padded_vocab_size: int) -> int:
    """Words in one row."""
    return -(-padded_vocab_size // BITS_PER_WORD)
