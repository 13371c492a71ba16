"""EngineCollector: numbers of the engine and the grammar cache, for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.stats import EngineCounters, EngineStats
    from grammars.cache import CacheStats


class EngineCollector:
    """Numbers that the engine's process keeps; its counters begin at 0 with each start of it.

    Args:
        model_name: the label of what vLLM has too.
    """

    def __init__(self, model_name: str) -> None:
        self._model_name = model_name
        self.stats: EngineStats | None = None
        self.grammars: CacheStats | None = None

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """The metrics; prometheus-client's protocol."""
        if self.stats is not None:
            yield from self._gauges(self.stats)
            yield from self._counters(self.stats.counters)
            yield CounterMetricFamily(
                "tightrope:engine_restarts",
                "Engine processes that replaced one that had died or hung",
                value=self.stats.num_restarts,
            )
        if self.grammars is not None:
            yield from self._of_grammars(self.grammars)

    def _of_grammars(self, cache: CacheStats) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        for name, documentation, value in (
            ("hits", "Grammars that were compiled already", cache.hits),
            ("misses", "Grammars that had to be compiled", cache.misses),
        ):
            yield CounterMetricFamily(f"tightrope:grammar_cache_{name}", documentation, value=value)
        for name, documentation, value in (
            ("grammars", "Compiled grammars that are kept", cache.num_grammars),
            ("bytes", "What they take", cache.memory_bytes),
        ):
            yield GaugeMetricFamily(f"tightrope:grammar_cache_{name}", documentation, value=value)

    def _gauges(self, stats: EngineStats) -> Iterator[GaugeMetricFamily]:
        num_used = stats.num_blocks - stats.num_free_blocks
        for name, documentation, value in (
            ("num_requests_running", "Sequences that generate", stats.num_running),
            ("num_requests_waiting", "Sequences in the queue", stats.num_waiting),
            (
                "kv_cache_usage_perc",
                "Blocks of the KV cache in use, 1 is all",
                num_used / max(1, stats.num_blocks),
            ),
        ):
            gauge = GaugeMetricFamily(f"vllm:{name}", documentation, labels=["model_name"])
            gauge.add_metric([self._model_name], value)
            yield gauge

    def _counters(self, counters: EngineCounters) -> Iterator[CounterMetricFamily]:
        success = CounterMetricFamily(
            "vllm:request_success",
            "Sequences that have ended, by reason",
            labels=["model_name", "finished_reason"],
        )
        for reason, count in counters.finished.items():
            success.add_metric([self._model_name, reason.value], count)
        yield success
        preemptions = CounterMetricFamily(
            "vllm:num_preemptions",
            "Sequences that lost their blocks to an older one",
            labels=["model_name"],
        )
        preemptions.add_metric([self._model_name], counters.preemptions)
        yield preemptions
        for name, documentation, value in (
            ("engine_steps", "Forward passes of a batch", counters.steps),
            ("bursts", "Runs of steps that the device took without the host", counters.bursts),
            ("cache_evictions", "Blocks whose known content gave way", counters.evictions),
            ("block_copies", "Blocks copied for sequences that begin alike", counters.block_copies),
            ("forced_tokens", "Output tokens that only one could be", counters.forced_tokens),
            ("draft_tokens", "Guessed tokens that were tried", counters.draft_tokens),
            ("accepted_draft_tokens", "Those that became output", counters.accepted_draft_tokens),
            ("closed_texts", "Texts narrowed so that they close in time", counters.closed),
            ("rejected_tokens", "Sampled tokens that a grammar refused", counters.rejected_tokens),
            ("isolated_steps", "Steps repeated one sequence at a time", counters.isolated_steps),
            ("masks", "Token masks made", counters.masks),
            ("mask_seconds", "Seconds spent on making token masks", counters.mask_seconds),
        ):
            yield CounterMetricFamily(f"tightrope:{name}", documentation, value=value)
