"""BlockPool: which blocks of the KV pool are free, and how many sequences hold the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

NULL_BLOCK: Final = 0
"""Never handed out: padding rows of a batch write here and nobody reads it."""


class BlockPool:
    """A stack of free blocks with reference counts.

    The block freed last is handed out first, because its memory is the warmest.

    Args:
        num_blocks: usable blocks; ids run from 1 to `num_blocks`.
    """

    def __init__(self, num_blocks: int) -> None:
        self._free = list(range(num_blocks, NULL_BLOCK, -1))
        self._num_references = [0] * (num_blocks + 1)

    @property
    def num_free(self) -> int:
        """How many blocks can be allocated now."""
        return len(self._free)

    def allocate(self, num_blocks: int) -> list[int]:
        """Take `num_blocks` blocks, each with one reference; the caller has checked `num_free`."""
        assert num_blocks <= len(self._free), "allocate() without room; check num_free first"
        block_ids = [self._free.pop() for _ in range(num_blocks)]
        for block_id in block_ids:
            self._num_references[block_id] = 1
        return block_ids

    def retain(self, block_ids: Iterable[int]) -> None:
        """Add one reference to each block, for a second sequence that shares it."""
        for block_id in block_ids:
            assert self._num_references[block_id] > 0, "retain() of a free block"
            self._num_references[block_id] += 1

    def release(self, block_ids: Iterable[int]) -> None:
        """Drop one reference of each block; the ones without any are free again."""
        for block_id in block_ids:
            assert self._num_references[block_id] > 0, "release() of a free block"
            self._num_references[block_id] -= 1
            if self._num_references[block_id] == 0:
                self._free.append(block_id)
