"""RowPool: distinct bitmask rows, each stored once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from grammars.protocol import Bitmask

_FACTOR: Final = 0x9E3779B97F4A7C1
"""An odd number without a pattern, for fingerprints modulo 2**64."""


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


def row_of(token_ids: Iterable[int], num_words: int) -> NDArray[np.uint32]:
    """A row of some tokens, uint32, (num_words,)."""
    words = np.zeros(num_words, np.uint32)
    for token_id in token_ids:
        words[token_id >> 5] |= np.uint32(1 << (token_id & 31))
    return words


class RowPool:
    """Rows by content; forgotten rows stay valid for those who hold them.

    Args:
        end_row: uint32, the end tokens.
        row_ids: numbers for new rows.
    """

    def __init__(self, end_row: NDArray[np.uint32], row_ids: Iterator[int]) -> None:
        self.end_row = end_row
        self._row_ids = row_ids
        self._rows: dict[int, list[tuple[bytes, MaskRow]]] = {}  # by fingerprint
        self._num_bytes = 0

    @property
    def num_bytes(self) -> int:
        """Bytes of all rows that are known."""
        return self._num_bytes

    def intern(self, words: NDArray[np.uint32]) -> MaskRow:
        """The row of these words, which are copied."""
        code, has_text = _digest(words, self.end_row)
        alike = self._rows.setdefault(int(code), [])
        content = words.tobytes()
        for known, row in alike:
            if known == content:
                return row
        row = MaskRow(next(self._row_ids), np.frombuffer(content, np.int32), bool(has_text))
        alike.append((content, row))
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


@kernel
def _digest(words: NDArray[np.uint32], end_row: NDArray[np.uint32]) -> tuple[np.int64, np.bool_]:
    """A fingerprint of a row, and whether it has other tokens than the end tokens.

    A sum of products, since that needs no word before another: many are taken at once.
    """
    code = np.int64(0)
    others = np.uint32(0)
    for i in range(len(words)):
        factor = np.int64(i + 1) * np.int64(_FACTOR)
        code += (factor ^ (factor >> 31)) * np.int64(words[i])
        others |= words[i] & ~end_row[i]
    return code ^ (code >> 31), others != 0
