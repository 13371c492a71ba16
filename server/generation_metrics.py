"""GenerationMetrics: tokens and times of what is generated, under vLLM's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Counter, Histogram

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_REQUEST_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_TOKEN_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_TOKENS: Final = (1, 10, 100, 1_000, 10_000, 100_000)


class GenerationMetrics:
    """What the server sees of generation; each metric means what it means in vLLM.

    Args:
        registry: where they are registered.
        model_name: their label `model_name`.
    """

    def __init__(self, registry: CollectorRegistry, model_name: str) -> None:
        self._registry = registry
        self._model_name = model_name
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

    def _counter(self, name: str, documentation: str) -> Counter:
        counter = Counter(f"vllm:{name}", documentation, ["model_name"], registry=self._registry)
        return counter.labels(self._model_name)

    def _histogram(self, name: str, documentation: str, buckets: tuple[float, ...]) -> Histogram:
        histogram = Histogram(
            f"vllm:{name}",
            documentation,
            ["model_name"],
            buckets=buckets,
            registry=self._registry,
        )
        return histogram.labels(self._model_name)
