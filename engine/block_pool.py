"""BlockPool: which blocks of the KV pool are free, who holds the others, and what they contain."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

NULL_BLOCK: Final = 0
"""Never handed out: padding rows of a batch write here and nobody reads it."""


class BlockPool:
    """Free blocks and reference counts; a free block may still be of use for its content.

    A blank block is handed out before one with known content, the one freed last first, because
    its memory is the warmest. Of blocks with known content the least recently used one goes first.

    Args:
        num_blocks: usable blocks; ids run from 1 to `num_blocks`.

    Attributes:
        num_evictions: free blocks with known content that were handed out for something else.
    """

    def __init__(self, num_blocks: int) -> None:
        self._blank = list(range(num_blocks, NULL_BLOCK, -1))
        self._reusable: OrderedDict[int, None] = OrderedDict()
        self._num_references = [0] * (num_blocks + 1)
        self._block_by_hash: dict[bytes, int] = {}
        self._hash_by_block: dict[int, bytes] = {}
        self.num_evictions = 0

    @property
    def num_free(self) -> int:
        """How many blocks can be allocated now."""
        return len(self._blank) + len(self._reusable)

    def allocate(self, num_blocks: int) -> list[int]:
        """Take `num_blocks` blocks, each with one reference; the caller has checked `num_free`."""
        assert num_blocks <= self.num_free, "allocate() without room; check num_free first"
        block_ids = [self._take_free() for _ in range(num_blocks)]
        for block_id in block_ids:
            self._num_references[block_id] = 1
        return block_ids

    def find(self, content_hash: bytes) -> int | None:
        """A block with this content, held or free; None where there is none."""
        return self._block_by_hash.get(content_hash)

    def is_free(self, block_id: int) -> bool:
        """Whether no sequence holds the block."""
        return self._num_references[block_id] == 0

    def retain(self, block_ids: Sequence[int]) -> None:
        """Add one reference to each block, held or free; a free one must have known content."""
        for block_id in block_ids:
            if self._num_references[block_id] == 0:
                del self._reusable[block_id]
            self._num_references[block_id] += 1

    def release(self, block_ids: Sequence[int]) -> None:
        """Drop one reference of each block; the ones without any are free again.

        Args:
            block_ids: of one sequence, in order; the last are given to others first, because a
                block is of no use to a prefix that has lost an earlier one.
        """
        for block_id in reversed(block_ids):
            assert self._num_references[block_id] > 0, "release() of a free block"
            self._num_references[block_id] -= 1
            if self._num_references[block_id] == 0:
                if block_id in self._hash_by_block:
                    self._reusable[block_id] = None
                else:
                    self._blank.append(block_id)

    def publish(self, block_id: int, content_hash: bytes) -> None:
        """Say what a held block contains; where another block has the same content, that one stays.

        Args:
            block_id: full, and never written again while it is held.
            content_hash: of everything that its keys and values depend on.
        """
        assert self._num_references[block_id] > 0, "publish() of a free block"
        if content_hash not in self._block_by_hash and block_id not in self._hash_by_block:
            self._block_by_hash[content_hash] = block_id
            self._hash_by_block[block_id] = content_hash

    def forget(self, block_ids: Sequence[int]) -> None:
        """Take back what was said about the content of held blocks; nobody finds them any more."""
        for block_id in block_ids:
            assert self._num_references[block_id] > 0, "forget() of a free block"
            content_hash = self._hash_by_block.pop(block_id, None)
            if content_hash is not None:
                del self._block_by_hash[content_hash]

    def _take_free(self) -> int:
        if self._blank:
            return self._blank.pop()
        block_id, _ = self._reusable.popitem(last=False)
        del self._block_by_hash[self._hash_by_block.pop(block_id)]
        self.num_evictions += 1
        return block_id
