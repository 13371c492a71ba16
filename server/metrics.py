"""Metrics: what /metrics shows, in a registry of its own.

Names that begin with `vllm:` mean what they mean there, so dashboards and autoscalers made for it
work; what only this server knows begins with `tightrope:`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from server.engine_metrics import EngineCollector
from server.error_answers import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.stats import EngineStats
    from grammars.cache import CacheStats
    from server.errors import ServerError

_REQUEST_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_TOKEN_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_COMPILE_SECONDS: Final = (0.0001, 0.001, 0.01, 0.1, 1, 10)
_TOKENS: Final = (1, 10, 100, 1_000, 10_000, 100_000)


class Metrics:
    """Counters, gauges and histograms of one server.

    Args:
        model_name: the label `model_name` of all that vLLM has too.
    """

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, model_name: str = "") -> None:
        self.registry = CollectorRegistry()
        self._model_name = model_name
        self._engine = EngineCollector(model_name)
        self.registry.register(self._engine)

        self._running = self._gauge("num_requests_running", "Sequences that generate")
        self._waiting = self._gauge("num_requests_waiting", "Sequences in the queue")
        self._cache_usage = self._gauge(
            "kv_cache_usage_perc", "Blocks of the KV cache in use, 1 is all"
        )
        self.prompt_tokens = self._counter("prompt_tokens", "Tokens of admitted prompts")
        self.generation_tokens = self._counter("generation_tokens", "Generated tokens")
        self.prefix_cache_queries = self._counter(
            "prefix_cache_queries", "Prompt tokens looked up in the prefix cache, per choice"
        )
        self.prefix_cache_hits = self._counter(
            "prefix_cache_hits", "Those of them that were there and were not computed"
        )
        self.first_token_seconds = self._histogram(
            "time_to_first_token_seconds",
            "From handing a choice to the engine to its first output",
            _REQUEST_SECONDS,
        )
        self.inter_token_seconds = self._histogram(
            "inter_token_latency_seconds",
            "Between two outputs of a choice, by the tokens that the later one holds",
            _TOKEN_SECONDS,
        )
        self.request_seconds = self._histogram(
            "e2e_request_latency_seconds",
            "From admission to the end of a request",
            _REQUEST_SECONDS,
        )
        self.request_prompt_tokens = self._histogram(
            "request_prompt_tokens", "Prompt tokens of ended requests", _TOKENS
        )
        self.request_generation_tokens = self._histogram(
            "request_generation_tokens", "Generated tokens of ended requests", _TOKENS
        )

        self.http_requests = Counter(
            "tightrope:http_requests",
            "HTTP requests by path and status",
            ["path", "status"],
            registry=self.registry,
        )
        self.http_requests_running = Gauge(
            "tightrope:http_requests_running",
            "POST requests that are being read or answered",
            registry=self.registry,
        )
        self._refusals = Counter(
            "tightrope:refusals",
            "Requests answered with an error, by what was wrong",
            ["reason"],
            registry=self.registry,
        )
        self._failures = Counter(
            "tightrope:generation_failures",
            "Admitted requests that ended with an error, by what went wrong",
            ["reason"],
            registry=self.registry,
        )
        self.compile_seconds = Histogram(
            "tightrope:grammar_compile_seconds",
            "From asking for a grammar to having it, cache hits included",
            buckets=_COMPILE_SECONDS,
            registry=self.registry,
        )
        self._compiling = Gauge(
            "tightrope:grammar_compiles_waiting",
            "Requests that wait for their grammar",
            registry=self.registry,
        )

    def count_refusal(self, error: ServerError) -> None:
        """A request was answered with this error."""
        self._refusals.labels(reason_of(error)).inc()

    def count_failure(self, error: ServerError) -> None:
        """An admitted request ended with this error, perhaps in the middle of its stream."""
        self._failures.labels(reason_of(error)).inc()

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Around the compile of a request's grammar."""
        with self._compiling.track_inprogress(), self.compile_seconds.time():
            yield

    def render(self, stats: EngineStats, grammars: CacheStats) -> bytes:
        """The text of /metrics, with the numbers of engine and grammar cache of this moment."""
        self._engine.stats = stats
        self._engine.grammars = grammars
        self._running.set(stats.num_running)
        self._waiting.set(stats.num_waiting)
        num_used = stats.num_blocks - stats.num_free_blocks
        self._cache_usage.set(num_used / max(1, stats.num_blocks))
        return generate_latest(self.registry)

    def _gauge(self, name: str, documentation: str) -> Gauge:
        gauge = Gauge(f"vllm:{name}", documentation, ["model_name"], registry=self.registry)
        return gauge.labels(self._model_name)

    def _counter(self, name: str, documentation: str) -> Counter:
        counter = Counter(f"vllm:{name}", documentation, ["model_name"], registry=self.registry)
        return counter.labels(self._model_name)

    def _histogram(self, name: str, documentation: str, buckets: tuple[float, ...]) -> Histogram:
        histogram = Histogram(
            f"vllm:{name}",
            documentation,
            ["model_name"],
            buckets=buckets,
            registry=self.registry,
        )
        return histogram.labels(self._model_name)
