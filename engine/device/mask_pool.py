"""MaskPool: mask rows where the logits are; a step names its rows by number and copies what is new.

    row 0            ALL_TOKENS, for sequences without a constraint
    rows 1 .. n      the step's own: masks that only this step knows, written anew
    rows n + 1 ..    shared ones, each copied once and known by identity

A grammar has some hundred distinct masks and a text meets the same ones again and again, so after a
while nearly every step copies 4 bytes a sequence where it copied a row of 6 to 19 KiB.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALL_TOKENS: Final = 0
"""The row of sequences without a constraint: everything is allowed."""

_FIRST_SHARED_ROWS: Final = 64


class NoTokenAllowedError(Exception):
    """A mask allows nothing, not even that the text ends."""


class MaskPool:
    """The rows, on the host or on a CUDA device; where they are shared, the oldest make room.

    One thread at a time: the one that makes masks, and between its steps the one that samples.

    Args:
        width: words of a row.
        max_bytes: of all rows; the pool starts small and doubles up to it, and has room for the
            rows of two steps in any case.
        max_step_rows: rows that one step can need.
        device: where the rows live.

    Attributes:
        rows: int32, (capacity, width), on the device; replaced when the pool grows.
        num_hits: shared rows that were here already.
        num_copies: rows that were copied, shared and own.
    """

    def __init__(
        self, width: int, *, max_bytes: int, max_step_rows: int, device: torch.device
    ) -> None:
        self._first_shared = 1 + max_step_rows
        least = self._first_shared + max_step_rows
        self._max_rows = max(least, max_bytes // (4 * width))
        capacity = min(self._max_rows, least + _FIRST_SHARED_ROWS)
        self.rows = torch.zeros((capacity, width), dtype=torch.int32, device=device)
        self.rows[ALL_TOKENS] = -1
        # id of a shared row -> the row itself, so that the id stays its own, and its number; the
        # one that was not used for longest is first.
        self._shared: OrderedDict[int, tuple[NDArray[np.int32], int]] = OrderedDict()
        self._staged = None if device.type == "cpu" else _Staging(max_step_rows, width, device)
        self._num_own = 0
        self.num_hits = 0
        self.num_copies = 0

    @property
    def num_shared(self) -> int:
        """How many shared rows are known."""
        return len(self._shared)

    def begin_step(self) -> None:
        """Before any row of a step is written: what the last one staged must have been copied."""
        self._num_own = 0
        if self._staged is not None:
            self._staged.wait()

    def take_own_row(self) -> tuple[int, NDArray[np.int32]]:
        """The number of one more of the step's own rows, and its memory on the host, to be written.

        Returns:
            The number, and int32, (width,): page-locked where the rows are on a device, else the
            row itself. What it holds is undefined.
        """
        own = (
            self.rows[1 : self._first_shared].numpy() if self._staged is None else self._staged.own
        )
        row: NDArray[np.int32] = own[self._num_own]
        self._num_own += 1
        return self._num_own, row

    def shared_row_id(self, row: NDArray[np.int32]) -> int:
        """The number of a shared row, valid in this step; it is copied if it is not here yet.

        Args:
            row: int32, (width,), never written again: the same array is the same row for ever.

        Raises:
            NoTokenAllowedError: the row is empty.
            ValueError: the row is no mask of this pool's vocabulary.
        """
        key = id(row)
        known = self._shared.get(key)
        if known is not None:
            self._shared.move_to_end(key)
            self.num_hits += 1
            return known[1]
        if row.shape != self.rows.shape[1:] or row.dtype != np.int32:
            raise ValueError(f"a mask of {row.shape} {row.dtype} where rows are {self.rows.shape}")
        if not row.any():
            raise NoTokenAllowedError
        number = self._place()
        if self._staged is None:
            self.rows[number].numpy()[:] = row
        else:
            self._staged.copy_shared(row, self.rows[number])
        self._shared[key] = (row, number)
        self.num_copies += 1
        return number

    def end_step(self) -> None:
        """All rows of the step are written; its own ones go to the device."""
        self.num_copies += self._num_own
        if self._staged is not None:
            self._staged.copy_own(self._num_own, self.rows[1 : 1 + self._num_own])

    def _place(self) -> int:
        """A free place, that of new room, or that of the row that was not used for longest."""
        used = self._first_shared + len(self._shared)
        if used < len(self.rows):
            return used
        if used < self._max_rows:
            capacity = min(self._max_rows, 2 * len(self.rows))
            grown = self.rows.new_zeros((capacity, self.rows.shape[1]))
            grown[: len(self.rows)] = self.rows
            self.rows = grown
            return used
        # There is room for all rows of a step, so the oldest is none of this one's.
        _, (_, number) = self._shared.popitem(last=False)
        return number


class _Staging:
    """Page-locked rows on their way to a device, copied without waiting for it.

    Copies are queued on the device's own stream, behind the kernels that read the rows before.
    """

    def __init__(self, max_step_rows: int, width: int, device: torch.device) -> None:
        shape = (2 * max_step_rows, width)
        self._rows = torch.zeros(shape, dtype=torch.int32, pin_memory=True)
        self.own: NDArray[np.int32] = self._rows[:max_step_rows].numpy()
        self._shared = self._rows[max_step_rows:]
        self._num_shared = 0
        self._device = device
        self._copied = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch's

    def wait(self) -> None:
        """Wait until no copy reads the rows."""
        self._copied.synchronize()
        self._num_shared = 0

    def copy_shared(self, row: NDArray[np.int32], target: torch.Tensor) -> None:
        staged = self._shared[self._num_shared]
        self._num_shared += 1
        staged.numpy()[:] = row
        target.copy_(staged, non_blocking=True)

    def copy_own(self, num_rows: int, target: torch.Tensor) -> None:
        """Copy the first rows of `own`; the last copy of a step."""
        if num_rows:
            target.copy_(self._rows[:num_rows], non_blocking=True)
        self._copied.record(torch.cuda.current_stream(self._device))
