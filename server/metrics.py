"""Metrics: what /metrics shows, in a registry of its own.

Names that begin with `vllm:` mean what they mean there, so dashboards and autoscalers made for vLLM
work; what only this server knows begins with `tightrope:`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from server.engine_metrics import EngineCollector
from server.error_answers import reason_of
from server.generation_metrics import GenerationMetrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.stats import EngineStats
    from grammars.cache import CacheStats
    from server.errors import ServerError

_COMPILE_SECONDS: Final = (0.0001, 0.001, 0.01, 0.1, 1, 10)


class Metrics:
    """Counters, gauges and histograms of one server.

    Args:
        model_name: the label `model_name` of all that vLLM has too.

    Attributes:
        generation: tokens and times of what is generated.
    """

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, model_name: str = "") -> None:
        self.registry = CollectorRegistry()
        self._engine = EngineCollector(model_name)
        self.registry.register(self._engine)
        self.generation = GenerationMetrics(self.registry, model_name)
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
        self._compile_seconds = Histogram(
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
        with self._compiling.track_inprogress(), self._compile_seconds.time():
            yield

    def render(self, stats: EngineStats, grammars: CacheStats) -> bytes:
        """The text of /metrics, with the numbers of engine and grammar cache of this moment."""
        self._engine.stats = stats
        self._engine.grammars = grammars
        return generate_latest(self.registry)
