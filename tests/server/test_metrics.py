"""Metrics: vLLM's names where they mean the same, and what only this server counts."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from engine.output import FinishReason
from engine.stats import EngineCounters, EngineStats
from grammars.cache import CacheStats
from server.config import ServerConfig
from server.metrics import Metrics
from tests.support.chat_server import MODEL, make_services, running

BODY = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "null"}}}


def samples(text: str) -> dict[tuple[str, ...], float]:
    """(name, label values but the model's...) -> value."""
    return {
        (sample.name, *(v for k, v in sorted(sample.labels.items()) if k != "model_name")): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def after(*bodies, **options) -> dict[tuple[str, ...], float]:
    with running(make_services(None, **options)) as url:
        for body in bodies:
            httpx.post(f"{url}/v1/chat/completions", json=body, timeout=30)
        return samples(httpx.get(f"{url}/metrics").text)


def test_a_request_is_counted_and_timed():
    found = after(BODY | {"n": 2}, BODY | {"response_format": SCHEMA, "stream": True})
    prompt = found["vllm:prompt_tokens_total",]
    assert prompt > 0
    assert found["vllm:generation_tokens_total",] == 2 + 2 + 4
    assert found["vllm:time_to_first_token_seconds_count",] == 3
    assert found["vllm:inter_token_latency_seconds_count",] == 1 + 1 + 3
    assert found["vllm:e2e_request_latency_seconds_count",] == 2
    assert found["vllm:prefix_cache_queries_total",] == prompt / 2 * 3
    assert found["vllm:num_requests_running",] == 0
    assert found["tightrope:grammar_compile_seconds_count",] == 1
    assert found["tightrope:http_requests_total", "/v1/chat/completions", "200"] == 2
    assert found["tightrope:http_requests_running",] == 0


def test_requests_under_way_are_told():
    services = make_services("a", pause_after=0)
    with (
        running(services) as url,
        httpx.stream(
            "POST", f"{url}/v1/chat/completions", json=BODY | {"stream": True}, timeout=30
        ) as answer,
    ):
        assert answer.status_code == 200
        assert samples(httpx.get(f"{url}/metrics").text)["tightrope:http_requests_running",] == 1


def test_refusals_are_counted_by_reason():
    deep = BODY | {"metadata": {"a": "b"}, "n": 1000}
    found = after(BODY | {"model": "other"}, deep, BODY | {"audio": {}}, BODY | {"n": 99})
    assert found["tightrope:refusals_total", "model_not_found"] == 1
    assert found["tightrope:refusals_total", "unsupported_parameter"] == 1
    assert found["tightrope:refusals_total", "invalid_value"] == 2


def test_what_fails_in_the_middle_of_a_stream_is_counted():
    found = after(BODY | {"stream": True}, fails_after=1)
    assert found["tightrope:generation_failures_total", "internal"] == 1


def test_an_answer_that_does_not_begin_in_time_is_shed():
    services = make_services("a", config=ServerConfig(queue_timeout_s=0.2), pause_after=0)
    with running(services) as url:
        answer = httpx.post(f"{url}/v1/chat/completions", json=BODY, timeout=30)
        found = samples(httpx.get(f"{url}/metrics").text)
    assert answer.status_code == 429
    assert "did not begin within queue_timeout_s=0.2 s" in answer.json()["error"]["message"]
    assert "retry-after" in answer.headers
    assert found["tightrope:generation_failures_total", "overloaded"] == 1
    assert services.engine.aborted


@pytest.mark.parametrize("reason", FinishReason)
def test_the_engines_numbers_are_those_of_the_moment(reason):
    counters = EngineCounters(
        preemptions=3, masks=5, mask_seconds=0.5, forced_tokens=7, bursts=6, evictions=10
    )
    counters.finished[reason] = 2
    grammars = CacheStats(hits=8, misses=9, num_grammars=4, memory_bytes=1000)
    stats = EngineStats(1, 2, 30, 40, counters, num_restarts=11)
    found = samples(Metrics("m").render(stats, grammars).decode())
    assert found["vllm:num_requests_running",] == 1
    assert found["vllm:num_requests_waiting",] == 2
    assert found["vllm:kv_cache_usage_perc",] == 0.25
    assert found["vllm:num_preemptions_total",] == 3
    assert found["vllm:request_success_total", reason.value] == 2
    assert found["tightrope:masks_total",] == 5
    assert found["tightrope:mask_seconds_total",] == 0.5
    assert found["tightrope:forced_tokens_total",] == 7
    assert found["tightrope:bursts_total",] == 6
    assert found["tightrope:cache_evictions_total",] == 10
    assert found["tightrope:engine_restarts_total",] == 11
    assert found["tightrope:grammar_cache_hits_total",] == 8
    assert found["tightrope:grammar_cache_misses_total",] == 9
    assert found["tightrope:grammar_cache_grammars",] == 4
    assert found["tightrope:grammar_cache_bytes",] == 1000
