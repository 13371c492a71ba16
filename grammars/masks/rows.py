"""RowPool: distinct bitmask rows, each stored once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from grammars.protocol import Bitmask


@dataclass(frozen=True, slots=True, eq=False)
class MaskRow:
    """The tokens allowed in some configurations.

    Args:
        row_id: stands for these words for ever, within one grammar; never used again for others.
        words: read-only, see `Bitmask`.
        has_text: whether a token other than an end token is allowed.
    """

    row_id: int
    words: Bitmask
    has_text: bool


class RowPool:
    """Rows by content; forgotten rows stay valid for those who hold them.

    Args:
        end_row: uint32, the end tokens.
        row_ids: numbers for new rows.
    """

    def __init__(self, end_row: NDArray[np.uint32], row_ids: Iterator[int]) -> None:
        self.end_row = end_row
        self._row_ids = row_ids
        self._rows: dict[int, list[MaskRow]] = {}  # by fingerprint
        self._factors = _factors(len(end_row))
        self._num_bytes = 0

    @property
    def num_bytes(self) -> int:
        """Bytes of all rows that are known."""
        return self._num_bytes

    def intern(self, words: NDArray[np.uint32]) -> MaskRow:
        """The row of these words, which are copied."""
        # A fingerprint modulo 2**32: hashing the bytes would cost three times as much.
        alike = self._rows.setdefault(int(np.bitwise_xor.reduce(words * self._factors)), [])
        content = words.tobytes()
        for known in alike:
            if known.words.tobytes() == content:
                return known
        has_text = bool((words & ~self.end_row).any())
        row = MaskRow(next(self._row_ids), np.frombuffer(content, np.int32), has_text)
        alike.append(row)
        self._num_bytes += len(content)
        return row

    def without(self, row: MaskRow, token_ids: Iterable[int]) -> MaskRow:
        """A row without some of its tokens."""
        words = row.words.view(np.uint32).copy()
        for token_id in token_ids:
            words[token_id >> 5] &= ~np.uint32(1 << (token_id & 31))
        return self.intern(words)

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()
        self._num_bytes = 0


@lru_cache(maxsize=8)
def _factors(num_words: int) -> NDArray[np.uint32]:
    """Odd numbers for fingerprints, uint32, (num_words,); read-only, since all pools share them."""
    odd = np.random.default_rng(0).integers(0, 2**31, num_words, np.uint32) * 2 + 1
    factors: NDArray[np.uint32] = odd.astype(np.uint32)
    factors.flags.writeable = False
    return factors
