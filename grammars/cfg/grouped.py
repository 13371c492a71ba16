"""Grouped: numbers by the number that they belong to, without a list for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


class Grouped:
    """As a list of lists, but three flat ones: Python's collector looks at every list it knows.

    Args:
        keys: what each value belongs to.
        values: as many; those of one key stay in order.
        num_keys: more than any key.
    """

    def __init__(self, keys: Sequence[int], values: Sequence[int], num_keys: int) -> None:
        of = np.array(keys, np.int64)
        order = np.argsort(of, kind="stable")
        self._values: list[int] = np.array(values, np.int64)[order].tolist()
        self._begin: list[int] = np.searchsorted(of[order], np.arange(num_keys + 1)).tolist()

    def __getitem__(self, key: int) -> list[int]:
        """The values of a key; raises IndexError past the last key."""
        return self._values[self._begin[key] : self._begin[key + 1]]
