"""MaskPool: distinct bitmask rows on the device; a step copies their numbers and what is new."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALL_TOKENS: Final = 0
"""The row of sequences without a constraint: everything is allowed."""

_FIRST_CAPACITY: Final = 64


class MaskPool:
    """Rows known by their content, the least recently used one replaced first.

    A grammar has some hundred distinct masks and a text meets the same ones again and again, so
    after a while nearly every step copies 4 bytes a sequence where it copied a row of 6 to 19 KiB.
    Content rather than the grammar's own number is the key: masks that the token limit or bad
    words have narrowed have no number, and equal rows of different grammars share a place.

    Args:
        width: words of a row.
        max_bytes: of the rows on the device; the pool starts small and doubles up to it, and has
            room for `min_rows` in any case.
        min_rows: distinct rows that one step can need.
        device: where the rows live.

    Attributes:
        rows: int32, (capacity, width), on the device; replaced when the pool grows.
        num_hits: rows that were found.
        num_copies: rows that were copied to the device.
    """

    def __init__(self, width: int, *, max_bytes: int, min_rows: int, device: torch.device) -> None:
        self._max_rows = 1 + max(min_rows, max_bytes // (4 * width) - 1)
        self.rows = torch.zeros(
            (min(self._max_rows, _FIRST_CAPACITY), width), dtype=torch.int32, device=device
        )
        self.rows[ALL_TOKENS] = -1
        self._numbers: OrderedDict[bytes, int] = OrderedDict()
        self.num_hits = 0
        self.num_copies = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def row_ids(self, rows: NDArray[np.int32]) -> list[int]:
        """The number of each row, valid until the next call; what is missing is copied.

        Args:
            rows: (n, width), on the host, n at most `min_rows`.
        """
        missing: dict[int, NDArray[np.int32]] = {}
        found: list[int] = []
        for row in rows:
            content = row.tobytes()
            number = self._numbers.get(content)
            if number is None:
                number = missing_number = self._place(in_use=found)
                missing[missing_number] = row
                self._numbers[content] = number
                self.num_copies += 1
            else:
                self._numbers.move_to_end(content)
                self.num_hits += 1
            found.append(number)
        if missing:
            places = torch.tensor(list(missing), device=self.rows.device)
            content_rows = torch.from_numpy(np.stack(list(missing.values())))
            self.rows.index_copy_(0, places, content_rows.to(self.rows.device))
        return found

    def _place(self, in_use: list[int]) -> int:
        """A free place, that of new room, or that of the row that was not used for longest."""
        used = len(self._numbers) + 1
        if used < len(self.rows):
            return used
        if used < self._max_rows:
            capacity = min(self._max_rows, 2 * len(self.rows))
            grown = self.rows.new_zeros((capacity, self.rows.shape[1]))
            grown[: len(self.rows)] = self.rows
            self.rows = grown
            return used
        # Rows of this call were used last, so the oldest is one of them only if all are.
        _, number = self._numbers.popitem(last=False)
        assert number not in in_use, "more distinct rows in a step than the pool was made for"
        return number
