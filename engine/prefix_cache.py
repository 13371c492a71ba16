"""PrefixCache: which keys and values of a sequence's beginning are in the pool already.

A full block is known by a hash of everything that its keys and values depend on: the salt, and all
tokens up to its end (SHA-256, chained from block to block, so that no caller can make two prefixes
meet). Only blocks whose tokens are settled and computed are known, so a rejected draft leaves
nothing to take back. The block after the full ones is shared by copying it from a running sequence
that begins the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as SequenceOf

    from engine.block_pool import BlockPool
    from engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a sequence need not compute.

    Args:
        block_ids: full blocks with the sequence's first tokens, not yet retained.
        tail_block_id: a block whose first `num_tail_tokens` slots hold the tokens behind them, to
            be copied; None where there is none.
        num_tail_tokens: less than a block.
    """

    block_ids: tuple[int, ...]
    tail_block_id: int | None = None
    num_tail_tokens: int = 0


class PrefixCache:
    """Finds and publishes the blocks of prefixes.

    Args:
        block_pool: remembers contents, and forgets those of the blocks that it hands out.
        block_size: tokens in a block.
        is_on: False finds nothing and publishes nothing.
    """

    def __init__(self, block_pool: BlockPool, block_size: int, *, is_on: bool) -> None:
        self._block_pool = block_pool
        self._block_size = block_size
        self._is_on = is_on

    def find(self, sequence: Sequence, running: Iterable[Sequence]) -> Prefix:
        """The longest beginning of a waiting sequence that the pool or a running one has.

        The sequence computes at least its last token: somebody must make the logits.
        """
        if not self._is_on:
            return Prefix(())
        self._extend_hashes(sequence)
        block_ids: list[int] = []
        num_usable = sequence.num_reusable_tokens // self._block_size
        for content_hash in sequence.block_hashes[:num_usable]:
            block_id = self._block_pool.find(content_hash)
            if block_id is None:
                break
            block_ids.append(block_id)
        tail_block_id, num_tail_tokens = None, 0
        for other in running:
            num_tokens = self._num_tail_tokens(sequence, other, len(block_ids))
            if num_tokens > num_tail_tokens:
                tail_block_id, num_tail_tokens = other.block_ids[len(block_ids)], num_tokens
        return Prefix(tuple(block_ids), tail_block_id, num_tail_tokens)

    def is_coming(self, sequence: Sequence, prefix: Prefix, running: Iterable[Sequence]) -> bool:
        """Whether a running sequence is about to compute a block that `prefix` lacks."""
        if not self._is_on:
            return False
        num_usable = sequence.num_reusable_tokens // self._block_size
        for other in running:
            num_shared = min(num_equal(sequence.block_hashes, other.block_hashes), num_usable)
            is_missing = num_shared > len(prefix.block_ids)
            if is_missing and other.num_computed_tokens < num_shared * self._block_size:
                return True
        return False

    def publish(self, sequence: Sequence) -> None:
        """Make the full blocks known that the sequence has computed."""
        num_full = sequence.num_computed_tokens // self._block_size
        if not self._is_on or num_full == sequence.num_published_blocks:
            return
        self._extend_hashes(sequence)
        for index in range(sequence.num_published_blocks, num_full):
            self._block_pool.publish(sequence.block_ids[index], sequence.block_hashes[index])
        sequence.num_published_blocks = num_full

    def _extend_hashes(self, sequence: Sequence) -> None:
        """Hash the blocks that have become full of settled tokens."""
        hashes, size = sequence.block_hashes, self._block_size
        for begin in range(len(hashes) * size, len(sequence.token_ids) - size + 1, size):
            before = hashes[-1] if hashes else sha256(sequence.request.cache_salt).digest()
            token_ids = np.asarray(sequence.token_ids[begin : begin + size], np.int32)
            hashes.append(sha256(before + token_ids.tobytes()).digest())

    def _num_tail_tokens(self, sequence: Sequence, other: Sequence, num_blocks: int) -> int:
        """How many tokens behind the first `num_blocks` blocks the other has computed too."""
        begin = num_blocks * self._block_size
        if other.request.cache_salt != sequence.request.cache_salt or (
            sequence.block_hashes[:num_blocks] != other.block_hashes[:num_blocks]
        ):
            return 0
        end = min(
            begin + self._block_size - 1, sequence.num_reusable_tokens, other.num_computed_tokens
        )
        return num_equal(sequence.token_ids[begin:end], other.token_ids[begin:end])


def num_equal(left: SequenceOf[object], right: SequenceOf[object]) -> int:
    """How many items the two have in common at their beginnings."""
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
