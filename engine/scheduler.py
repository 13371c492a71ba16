"""Scheduler: which sequences compute how many tokens in the next step, and who holds which blocks.

Invariants: `running` is in order of arrival; a sequence holds blocks exactly while it runs; the
oldest running sequence is never preempted for another, so every admitted request makes progress.
"""

from __future__ import annotations

import bisect
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.block_pool import BlockPool
    from engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class ScheduledChunk:
    """The next `num_tokens` uncomputed tokens of a sequence are computed in this step.

    Args:
        sequence: whose.
        num_tokens: at least one.
        samples: whether nothing is left to compute after them, so that a token is sampled.
    """

    sequence: Sequence
    num_tokens: int
    samples: bool

    @classmethod
    def from_budget(cls, sequence: Sequence, budget: int) -> ScheduledChunk:
        """As many of the sequence's uncomputed tokens as the budget allows."""
        num_tokens = min(sequence.num_uncomputed_tokens, budget)
        return cls(sequence, num_tokens, samples=num_tokens == sequence.num_uncomputed_tokens)


class Scheduler:
    """Continuous batching: first come first served, decodes before prefill, prompts in chunks.

    Args:
        block_pool: the free blocks; only the scheduler allocates and releases.
        block_size: tokens in a block.
        max_num_seqs: sequences that run at the same time.
        max_num_batched_tokens: tokens in one step.
    """

    def __init__(
        self,
        block_pool: BlockPool,
        *,
        block_size: int,
        max_num_seqs: int,
        max_num_batched_tokens: int,
    ) -> None:
        self._block_pool = block_pool
        self._block_size = block_size
        self._max_num_seqs = max_num_seqs
        self._max_num_batched_tokens = max_num_batched_tokens
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.num_preemptions = 0

    def add(self, sequence: Sequence) -> None:
        """Queue a new sequence; the caller has checked that it fits the pool alone."""
        self.waiting.append(sequence)

    def remove(self, sequence: Sequence) -> None:
        """Forget a sequence that has finished, in whatever state, and free its blocks."""
        if sequence in self.running:
            self.running.remove(sequence)
            self._release(sequence)
        else:
            self.waiting.remove(sequence)

    def schedule(self) -> list[ScheduledChunk]:
        """Choose the next step's chunks and give each sequence the blocks that it needs.

        Running sequences come first, those that decode before those that prefill. Where blocks run
        out the youngest running sequence gives up its own and is computed again later.
        """
        chunks: dict[Sequence, ScheduledChunk] = {}
        budget = self._max_num_batched_tokens
        num_preemptions_before = self.num_preemptions
        for sequence in sorted(self.running, key=lambda running: running.num_uncomputed_tokens > 1):
            if budget == 0:
                break
            if not sequence.block_ids:
                continue  # preempted a moment ago
            chunk = ScheduledChunk.from_budget(sequence, budget)
            while not self._grow(sequence, sequence.num_computed_tokens + chunk.num_tokens):
                victim = self._preempt_youngest()
                if victim in chunks:
                    budget += chunks.pop(victim).num_tokens
                if victim is sequence:
                    break
            else:
                chunks[sequence] = chunk
                budget -= chunk.num_tokens
        if self.num_preemptions == num_preemptions_before:
            self._admit(chunks, budget)
        return list(chunks.values())

    def _admit(self, chunks: dict[Sequence, ScheduledChunk], budget: int) -> None:
        """Start waiting sequences while there is room, in order, never past one that must wait."""
        while self.waiting and budget > 0 and len(self.running) < self._max_num_seqs:
            sequence = self.waiting[0]
            # One spare block for each running sequence, else the next decode would preempt again.
            spare = len(self.running)
            if self._num_missing_blocks(sequence, len(sequence.token_ids)) + spare > (
                self._block_pool.num_free
            ):
                break
            self.waiting.popleft()
            self._grow(sequence, len(sequence.token_ids))
            bisect.insort(self.running, sequence, key=lambda running: running.arrival)
            chunk = ScheduledChunk.from_budget(sequence, budget)
            chunks[sequence] = chunk
            budget -= chunk.num_tokens

    def _grow(self, sequence: Sequence, num_tokens: int) -> bool:
        """Give the sequence blocks for its first `num_tokens` tokens; False if too few are free."""
        missing = self._num_missing_blocks(sequence, num_tokens)
        if missing > self._block_pool.num_free:
            return False
        sequence.block_ids += self._block_pool.allocate(missing)
        return True

    def _num_missing_blocks(self, sequence: Sequence, num_tokens: int) -> int:
        return max(0, -(-num_tokens // self._block_size) - len(sequence.block_ids))

    def _preempt_youngest(self) -> Sequence:
        victim = self.running.pop()
        self._release(victim)
        victim.num_computed_tokens = 0
        self.waiting.appendleft(victim)
        self.num_preemptions += 1
        return victim

    def _release(self, sequence: Sequence) -> None:
        self._block_pool.release(sequence.block_ids)
        sequence.block_ids = []
