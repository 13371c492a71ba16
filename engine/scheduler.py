"""Scheduler: which sequences compute how many tokens in the next step, and who holds which blocks.

Invariants: `running` is in order of arrival; a sequence holds blocks exactly while it runs; the
oldest running sequence is never preempted for another, so every admitted request makes progress.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.fair_queue import FairQueue

if TYPE_CHECKING:
    from engine.block_pool import BlockPool
    from engine.prefix_cache import Prefix, PrefixCache
    from engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class ScheduledChunk:
    """What a sequence computes in this step: its next uncomputed tokens, and perhaps drafts.

    Args:
        sequence: whose.
        num_tokens: of its own tokens, at least one.
        samples: whether nothing of its own is left to compute after them, so that a token is
            sampled.
        draft_token_ids: guesses of the tokens after its last one; only where it samples.
    """

    sequence: Sequence
    num_tokens: int
    samples: bool
    draft_token_ids: tuple[int, ...] = ()

    @classmethod
    def from_budget(cls, sequence: Sequence, budget: int) -> ScheduledChunk:
        """As many of the sequence's uncomputed tokens and drafts as the budget allows."""
        num_tokens = min(sequence.num_uncomputed_tokens, sequence.max_chunk_tokens, budget)
        samples = num_tokens == sequence.num_uncomputed_tokens
        drafts = sequence.draft_token_ids[: budget - num_tokens] if samples else ()
        return cls(sequence, num_tokens, samples, tuple(drafts))

    @property
    def num_batched_tokens(self) -> int:
        """Tokens that go through the model, drafts included."""
        return self.num_tokens + len(self.draft_token_ids)


@dataclass(frozen=True, slots=True)
class BlockCopy:
    """A block whose keys and values are copied before the step runs."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step.

    Args:
        chunks: of different sequences.
        block_copies: carried out in order, before anything is computed.
    """

    chunks: list[ScheduledChunk]
    block_copies: list[BlockCopy]


class Scheduler:
    """Continuous batching: callers take turns, decodes before prefill, prompts in chunks.

    Callers are known by their salt. However many requests one of them has queued, another's waits
    for one of these at most.

    Args:
        block_pool: the free blocks; only the scheduler allocates and releases.
        prefix_cache: over the same pool.
        block_size: tokens in a block.
        max_num_seqs: sequences that run at the same time.
        max_num_batched_tokens: tokens in one step, drafts included.
    """

    def __init__(
        self,
        block_pool: BlockPool,
        prefix_cache: PrefixCache,
        *,
        block_size: int,
        max_num_seqs: int,
        max_num_batched_tokens: int,
    ) -> None:
        self._block_pool = block_pool
        self._prefix_cache = prefix_cache
        self._block_size = block_size
        self._max_num_seqs = max_num_seqs
        self._max_num_batched_tokens = max_num_batched_tokens
        self._block_copies: list[BlockCopy] = []
        self.waiting: FairQueue[Sequence] = FairQueue()
        self.running: list[Sequence] = []
        self.num_preemptions = 0

    def add(self, sequence: Sequence) -> None:
        """Queue a new sequence; the caller has checked that it fits the pool alone."""
        self.waiting.add(sequence, sequence.request.cache_salt)

    def remove(self, sequence: Sequence, *, is_trusted: bool = True) -> None:
        """Forget a sequence that has finished, in whatever state, and free its blocks.

        Args:
            sequence: waiting or running.
            is_trusted: False: what its blocks hold is not to be found by others.
        """
        if sequence in self.running:
            self.running.remove(sequence)
            if not is_trusted:
                self._block_pool.forget(sequence.block_ids)
            self._release(sequence)
        else:
            self.waiting.remove(sequence, sequence.request.cache_salt)

    @property
    def can_admit(self) -> bool:
        """Whether a waiting sequence may start, if there are blocks for it."""
        return bool(self.waiting) and len(self.running) < self._max_num_seqs

    def reserve(self, num_tokens: int) -> bool:
        """Give every running sequence blocks for its next `num_tokens` tokens, or none of them.

        Returns:
            False if too few blocks are free.
        """
        ends = [sequence.num_computed_tokens + num_tokens for sequence in self.running]
        missing = sum(
            max(0, self._num_blocks(end) - len(sequence.block_ids))
            for sequence, end in zip(self.running, ends, strict=True)
        )
        if missing > self._block_pool.num_free:
            return False
        return all(map(self._grow, self.running, ends))

    def schedule(self) -> StepPlan:
        """Choose the next step's chunks and give each sequence the blocks that it needs.

        Running sequences come first, those that decode before those that prefill. Where blocks run
        out the youngest running sequence gives up its own and is computed again later.
        """
        self._block_copies = []
        chunks: dict[Sequence, ScheduledChunk] = {}
        budget = self._max_num_batched_tokens
        in_turn = sorted(self.running, key=lambda running: running.is_prefilling)
        num_preemptions_before = self.num_preemptions
        for index, sequence in enumerate(in_turn):
            if budget == 0:
                break
            if not sequence.block_ids:
                continue  # preempted a moment ago
            # Forced tokens and drafts of one sequence never cost another its one token a step.
            reserved = 0 if sequence.is_prefilling else len(in_turn) - index - 1
            chunk = ScheduledChunk.from_budget(sequence, budget - reserved)
            while not self._grow(sequence, sequence.num_computed_tokens + chunk.num_batched_tokens):
                if chunk.draft_token_ids:
                    chunk = replace(chunk, draft_token_ids=())
                    continue
                victim = self._preempt_youngest()
                if victim in chunks:
                    budget += chunks.pop(victim).num_batched_tokens
                if victim is sequence:
                    break
            else:
                chunks[sequence] = chunk
                budget -= chunk.num_batched_tokens
        if self.num_preemptions == num_preemptions_before:
            self._admit(chunks, budget)
        return StepPlan(list(chunks.values()), self._block_copies)

    def _admit(self, chunks: dict[Sequence, ScheduledChunk], budget: int) -> None:
        """Start waiting sequences while there is room, in order, never past one that must wait."""
        while self.waiting and budget > 0 and len(self.running) < self._max_num_seqs:
            sequence = self.waiting.peek()
            prefix = self._prefix_cache.find(sequence, self.running)
            # What a running sequence is about to compute is waited for, not computed twice.
            if self._prefix_cache.is_coming(sequence, prefix, self.running):
                break
            num_blocks = self._num_blocks(len(sequence.token_ids)) - len(prefix.block_ids)
            num_revived = sum(map(self._block_pool.is_free, prefix.block_ids))
            # One spare block for each running sequence, else the next decode would preempt again.
            spare = len(self.running)
            if num_blocks + num_revived + spare > self._block_pool.num_free:
                break
            self.waiting.take()
            self._take(sequence, prefix)
            bisect.insort(self.running, sequence, key=lambda running: running.arrival)
            # Drafts that it may have from before it was preempted wait for a step of their own.
            chunk = replace(ScheduledChunk.from_budget(sequence, budget), draft_token_ids=())
            chunks[sequence] = chunk
            budget -= chunk.num_batched_tokens

    def _take(self, sequence: Sequence, prefix: Prefix) -> None:
        """Give a waiting sequence all blocks of its tokens, the prefix's first."""
        self._block_pool.retain(prefix.block_ids)
        sequence.block_ids = list(prefix.block_ids)
        sequence.num_published_blocks = len(prefix.block_ids)
        sequence.start_at(len(prefix.block_ids) * self._block_size + prefix.num_tail_tokens)
        self._grow(sequence, len(sequence.token_ids))
        if prefix.tail_block_id is not None:
            target = sequence.block_ids[len(prefix.block_ids)]
            self._block_copies.append(BlockCopy(prefix.tail_block_id, target))

    def _grow(self, sequence: Sequence, num_tokens: int) -> bool:
        """Give the sequence blocks for its first `num_tokens` tokens; False if too few are free."""
        missing = max(0, self._num_blocks(num_tokens) - len(sequence.block_ids))
        if missing > self._block_pool.num_free:
            return False
        sequence.block_ids += self._block_pool.allocate(missing)
        return True

    def _num_blocks(self, num_tokens: int) -> int:
        return -(-num_tokens // self._block_size)

    def _preempt_youngest(self) -> Sequence:
        victim = self.running.pop()
        self._release(victim)
        victim.restart()
        self.num_preemptions += 1
        self.waiting.put_back(victim)
        return victim

    def _release(self, sequence: Sequence) -> None:
        self._block_pool.release(sequence.block_ids)
        sequence.block_ids = []
