"""Metrics: what /metrics shows, in a registry of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from engine.stats import EngineStats


class Metrics:
    """Counters and histograms of one server; names begin with `tightrope_`."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.http_requests = Counter(
            "tightrope_http_requests",
            "HTTP requests by path and status",
            ["path", "status"],
            registry=self.registry,
        )
        self.prompt_tokens = Counter(
            "tightrope_prompt_tokens", "Tokens of admitted prompts", registry=self.registry
        )
        self.completion_tokens = Counter(
            "tightrope_completion_tokens", "Generated tokens", registry=self.registry
        )
        self.compile_seconds = Histogram(
            "tightrope_grammar_compile_seconds",
            "Seconds from asking for a grammar to having it, cache hits included",
            buckets=(0.0001, 0.001, 0.01, 0.1, 1, 10),
            registry=self.registry,
        )
        self.first_token_seconds = Histogram(
            "tightrope_first_token_seconds",
            "Seconds from admission to the first output of the engine",
            buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60),
            registry=self.registry,
        )
        self._running = Gauge(
            "tightrope_sequences_running", "Sequences that generate", registry=self.registry
        )
        self._waiting = Gauge(
            "tightrope_sequences_waiting", "Sequences in the queue", registry=self.registry
        )

    def render(self, stats: EngineStats) -> bytes:
        """The text of /metrics, with the engine's gauges of this moment."""
        self._running.set(stats.num_running)
        self._waiting.set(stats.num_waiting)
        return generate_latest(self.registry)
