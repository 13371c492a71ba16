"""int_rows: a list of rows of small numbers as an array."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_ROWS_AT_ONCE: Final = 1 << 14
"""A call holds the interpreter's lock, 1 to 2 ms for so many; between two, other threads go on."""


def int_rows(rows: Sequence[tuple[int, ...]], width: int) -> NDArray[np.int32]:
    """The rows as int32, (len(rows), width); in half the time of `np.array`, and in parts."""
    array = np.empty((len(rows), width), np.int32)
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[begin : begin + _ROWS_AT_ONCE]
        values = np.fromiter(chain.from_iterable(part), np.int32, width * len(part))
        array[begin : begin + len(part)] = values.reshape(-1, width)
    return array
