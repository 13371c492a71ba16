"""Tracing: one span a chat, with OpenTelemetry's names and no text of anybody; off by default."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from server.errors import StartupError
from server.open_telemetry import OpenTelemetryTracing, load_tracing
from server.tracing import NoTracing
from tests.support.chat_server import MODEL, make_services, running

trace = pytest.importorskip("opentelemetry.sdk.trace")
export = pytest.importorskip("opentelemetry.sdk.trace.export")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")

BODY = {"model": MODEL, "messages": [{"role": "user", "content": "a secret"}], "max_tokens": 9}
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def exporter():
    return memory.InMemorySpanExporter()


def traced(exporter, *texts, **options):
    provider = trace.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    return replace(make_services(*texts, **options), tracing=OpenTelemetryTracing(provider))


def test_a_chat_is_a_span_in_the_trace_of_its_client(exporter):
    with running(traced(exporter, "hello")) as url:
        headers = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}
        body = BODY | {"temperature": 0.5, "seed": 7, "n": 2}
        httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers)
    (span,) = exporter.get_finished_spans()
    assert span.name == f"chat {MODEL}"
    assert f"{span.context.trace_id:032x}" == TRACE_ID
    assert span.status.is_ok or span.status.status_code.name == "UNSET"
    facts = dict(span.attributes)
    assert facts.pop("gen_ai.usage.input_tokens") > 0
    assert facts == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "tightrope",
        "gen_ai.request.model": MODEL,
        "gen_ai.request.choice.count": 2,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 1.0,
        "gen_ai.request.seed": 7,
        "gen_ai.response.model": MODEL,
        "gen_ai.response.finish_reasons": ("stop", "stop"),
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.output_tokens": 10,
    }


def test_a_chat_that_fails_says_so_without_a_word_of_it(exporter):
    with running(traced(exporter, "hello", fails_after=2)) as url:
        httpx.post(f"{url}/v1/chat/completions", json=BODY | {"stream": True})
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code.name == "ERROR"
    assert span.attributes["error.type"] == "internal"
    assert "secret" not in span.to_json()
    assert "injected" not in span.to_json()


def test_what_a_cut_answer_lacks_is_part_of_its_span(exporter):
    with running(traced(exporter, "yes")) as url:
        body = BODY | {"structured_outputs": {"choice": ["yes", "no"]}, "max_tokens": 1}
        httpx.post(f"{url}/v1/chat/completions", json=body)
    (span,) = exporter.get_finished_spans()
    assert span.attributes["gen_ai.response.finish_reasons"] == ("length",)
    assert span.attributes["tightrope.missing_tokens"] == (2,)


def test_it_is_off_unless_the_environment_asks_for_it():
    for variables in (
        {},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"},
    ):
        assert isinstance(load_tracing(variables), NoTracing)
    assert isinstance(load_tracing({"OTEL_TRACES_EXPORTER": "console"}), OpenTelemetryTracing)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "'zipkin' is unknown; use otlp, console or none"),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "'grpc' is not supported; use http/protobuf",
        ),
    ],
)
def test_what_it_cannot_do_is_told_at_the_start(variables, message):
    with pytest.raises(StartupError, match=message):
        load_tracing(variables)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(StartupError, match=r"install tightrope\[tracing\]"):
        load_tracing({"OTEL_TRACES_EXPORTER": "console"})
