"""ArrayPools: the growing arrays of one automaton, within a budget of bytes."""

from __future__ import annotations

from typing import Final

import numpy as np

from grammars.errors import LimitExceededError
from grammars.pushdown.layout import GrowingArray, LexerColumn, StateColumn, TableArrays

_NUM_LEXER_COLUMNS: Final = len(LexerColumn)
_NUM_STATE_COLUMNS: Final = len(StateColumn)


class ArrayPools:
    """One pool for each array of `TableArrays`; row 0 of those that are numbered from 1 is unused.

    Args:
        max_bytes: what `num_bytes` may come to.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.lexers = GrowingArray(_NUM_LEXER_COLUMNS, np.int64, 1, capacity=256)
        self.transitions = GrowingArray(None, np.int32, 0, capacity=4096)
        self.classes = GrowingArray(None, np.uint16, 0, capacity=1024)
        self.states = GrowingArray(_NUM_STATE_COLUMNS, np.int64, 1)
        self.actions = GrowingArray(3, np.int64, 0, capacity=256)
        self.resumes = GrowingArray(3, np.int64, 1)
        self.far_spans = GrowingArray(2, np.int32, 1)
        self.far_sets = GrowingArray(None, np.int64, 1)
        self._pools = (
            self.lexers,
            self.transitions,
            self.classes,
            self.states,
            self.actions,
            self.resumes,
            self.far_spans,
            self.far_sets,
        )
        self._array_bytes = sum(pool.array.nbytes for pool in self._pools)
        self._kept_bytes = 0
        self._arrays: TableArrays | None = None  # made anew when an array has moved

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays, and of what is kept beside them."""
        return self._array_bytes + self._kept_bytes

    def arrays(self) -> TableArrays:
        """The arrays as they are now."""
        if self._arrays is None:
            # A pool knows its dtype, not its type.
            self._arrays = TableArrays(*(pool.array for pool in self._pools))  # type: ignore[arg-type]
        return self._arrays

    def reserve(self, pool: GrowingArray, count: int) -> int:
        """Make room for more rows of a pool; the first of them."""
        before = pool.array
        first = pool.reserve(count)
        if pool.array is not before:
            self._array_bytes += pool.array.nbytes - before.nbytes
            self._arrays = None
        return first

    def keep(self, num_bytes: int) -> None:
        """Count what is kept beside the arrays."""
        self._kept_bytes += num_bytes

    def check_budget(self, more_bytes: int) -> None:
        """Refuse more bytes than there are left.

        Raises:
            LimitExceededError: the tables would take more than `max_bytes`.
        """
        if self.num_bytes + more_bytes > self._max_bytes:
            raise LimitExceededError(
                "max_table_bytes", self._max_bytes, "the automaton of this grammar"
            )
