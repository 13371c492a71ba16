"""EngineStats: a snapshot of gauges and counters, for metrics and tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.output import FinishReason

if TYPE_CHECKING:
    from engine.output import RequestWork


@dataclass(slots=True)
class EngineCounters:
    """What has happened since the start; only ever grows.

    Args:
        steps: forward passes of a batch.
        prefill_tokens: prompt tokens computed, those computed again after preemption included.
        output_tokens: tokens returned.
        preemptions: sequences that lost their blocks to an older one.
        evictions: blocks whose known content gave way, the least recently used one first.
        block_copies: blocks copied because a running sequence began them alike.
        finished: ended requests by reason.
        rejected_tokens: sampled tokens that the sequence's own constraint refused.
        closed: ended requests whose text was narrowed so that it could close in time.
        cached_prompt_tokens: prompt tokens of ended requests that were not computed for them.
        forced_tokens: output tokens of ended requests that were not sampled.
        draft_tokens: guessed tokens that were tried for ended requests.
        accepted_draft_tokens: those of them that became output.
        isolated_steps: steps that failed as a batch and were repeated one sequence at a time.
        bursts: runs of several steps that the device took without the host; `steps` counts each.
        masks: bitmasks made for places that could be sampled.
        mask_seconds: wall time of the thread that makes them.
    """

    steps: int = 0
    prefill_tokens: int = 0
    output_tokens: int = 0
    preemptions: int = 0
    evictions: int = 0
    block_copies: int = 0
    rejected_tokens: int = 0
    isolated_steps: int = 0
    closed: int = 0
    cached_prompt_tokens: int = 0
    forced_tokens: int = 0
    draft_tokens: int = 0
    accepted_draft_tokens: int = 0
    bursts: int = 0
    masks: int = 0
    mask_seconds: float = 0.0
    finished: dict[FinishReason, int] = field(
        default_factory=lambda: dict.fromkeys(FinishReason, 0)
    )

    def count_end(self, reason: FinishReason, work: RequestWork, *, was_closed: bool) -> None:
        """Count a request that has ended, and what it has cost."""
        self.finished[reason] += 1
        self.closed += was_closed
        self.cached_prompt_tokens += work.num_cached_tokens
        self.forced_tokens += work.num_forced_tokens
        self.draft_tokens += work.num_draft_tokens
        self.accepted_draft_tokens += work.num_accepted_draft_tokens


@dataclass(frozen=True, slots=True)
class EngineStats:
    """The engine at one moment.

    Args:
        num_running: sequences that hold blocks.
        num_waiting: sequences in the queue.
        num_free_blocks: of the KV pool.
        num_blocks: of the KV pool, in all.
        counters: a copy.
        num_restarts: times that the engine has been replaced by a new one.
        max_running: sequences that may run at the same time; 0 until the engine has said it.
    """

    num_running: int
    num_waiting: int
    num_free_blocks: int
    num_blocks: int
    counters: EngineCounters
    num_restarts: int = 0
    max_running: int = 0

    @property
    def num_places(self) -> int:
        """Sequences of the queue that do not really wait: the next step begins them."""
        return max(0, self.max_running - self.num_running)
