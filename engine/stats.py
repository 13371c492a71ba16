"""EngineStats: a snapshot of gauges and counters, for metrics and tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.output import FinishReason


@dataclass(slots=True)
class EngineCounters:
    """What has happened since the start; only ever grows.

    Args:
        steps: forward passes of a batch.
        prefill_tokens: prompt tokens computed, those computed again after preemption included.
        output_tokens: tokens returned.
        preemptions: sequences that lost their blocks to an older one.
        finished: ended requests by reason.
        rejected_tokens: sampled tokens that the sequence's own constraint refused.
        isolated_steps: steps that failed as a batch and were repeated one sequence at a time.
    """

    steps: int = 0
    prefill_tokens: int = 0
    output_tokens: int = 0
    preemptions: int = 0
    rejected_tokens: int = 0
    isolated_steps: int = 0
    finished: dict[FinishReason, int] = field(
        default_factory=lambda: dict.fromkeys(FinishReason, 0)
    )


@dataclass(frozen=True, slots=True)
class EngineStats:
    """The engine at one moment.

    Args:
        num_running: sequences that hold blocks.
        num_waiting: sequences in the queue.
        num_free_blocks: of the KV pool.
        num_blocks: of the KV pool, in all.
        counters: a copy.
    """

    num_running: int
    num_waiting: int
    num_free_blocks: int
    num_blocks: int
    counters: EngineCounters
