"""OpenTelemetryTracing: spans by the conventions for generative AI, as OTEL's variables ask for.

Attributes follow OpenTelemetry's semantic conventions (gen-ai, client spans). Texts of prompts and
answers are never among them.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from server.error_answers import reason_of
from server.errors import ServerError, StartupError
from server.tracing import NoTracing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.tracing import ChatOutcome, ChatSpan, TracedRequest, Tracing

Attributes = dict[str, "str | int | float | bool | tuple[str, ...] | tuple[int, ...]"]

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_EXPORTERS: Final = "OTEL_TRACES_EXPORTER"
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


class OpenTelemetryTracing:
    """Spans through OpenTelemetry's SDK.

    Args:
        provider: an `opentelemetry.sdk.trace.TracerProvider`.
    """

    def __init__(self, provider: Any) -> None:  # noqa: ANN401  # an optional package's type
        self._context = importlib.import_module("opentelemetry.context")
        self._kind = importlib.import_module("opentelemetry.trace").SpanKind.SERVER
        self._status = importlib.import_module("opentelemetry.trace").StatusCode.ERROR
        self._propagator = importlib.import_module(
            "opentelemetry.trace.propagation.tracecontext"
        ).TraceContextTextMapPropagator()
        self._tracer = provider.get_tracer("tightrope")

    def incoming(self, headers: Mapping[str, str]) -> AbstractContextManager[None]:
        return _Attached(self._context, self._propagator.extract(dict(headers)))

    def start_chat(self, request: TracedRequest) -> ChatSpan:
        asked = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "tightrope",
            "gen_ai.request.model": request.model,
            "gen_ai.request.choice.count": request.num_choices,
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.temperature": request.temperature,
            "gen_ai.request.top_p": request.top_p,
            "gen_ai.request.seed": request.seed,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        span = self._tracer.start_span(f"chat {request.model}", kind=self._kind, attributes=given)
        return _OpenTelemetrySpan(span, request.model, self._status)


class _Attached(AbstractContextManager[None]):
    """A context of OpenTelemetry while a request is answered."""

    def __init__(self, module: Any, context: Any) -> None:  # noqa: ANN401
        self._module, self._new = module, context

    def __enter__(self) -> None:
        self._token = self._module.attach(self._new)

    def __exit__(self, *_exc: object) -> None:
        self._module.detach(self._token)


class _OpenTelemetrySpan:
    def __init__(self, span: Any, model: str, error_status: Any) -> None:  # noqa: ANN401
        self._span, self._model, self._error_status = span, model, error_status

    def end(self, outcome: ChatOutcome) -> None:
        facts: Attributes = {
            "gen_ai.response.model": self._model,
            "gen_ai.response.finish_reasons": outcome.finish_reasons,
            "gen_ai.usage.input_tokens": outcome.num_prompt_tokens,
            "gen_ai.usage.cache_read.input_tokens": outcome.num_cached_tokens,
            "gen_ai.usage.output_tokens": outcome.num_completion_tokens,
        }
        if outcome.missing_tokens:
            facts["tightrope.missing_tokens"] = outcome.missing_tokens
        if (error := outcome.error) is not None:
            facts["error.type"] = (
                reason_of(error) if isinstance(error, ServerError) else type(error).__name__
            )
            self._span.set_status(self._error_status)
        self._span.set_attributes(facts)
        self._span.end()


def load_tracing(environment: Mapping[str, str]) -> Tracing:
    """Tracing as OpenTelemetry's own variables ask for it; `NoTracing` without any.

    Args:
        environment: `OTEL_TRACES_EXPORTER` (otlp, console or none) and `OTEL_EXPORTER_OTLP_*`.

    Raises:
        StartupError: it is asked for, but its packages are not installed, or it is unknown.
    """
    default = "otlp" if any(environment.get(name) for name in _ENDPOINTS) else "none"
    name = environment.get(_EXPORTERS) or default
    if name == "none" or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return NoTracing()
    try:
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
        processor = export.BatchSpanProcessor(_exporter(name, export, environment))
    except ImportError as error:
        raise StartupError(
            f"tracing is asked for ({_EXPORTERS}={name}), but {error.name} is not installed; "
            "install tightrope[tracing]"
        ) from error
    resources = importlib.import_module("opentelemetry.sdk.resources")
    service = {"service.name": environment.get("OTEL_SERVICE_NAME") or "tightrope"}
    provider = sdk.TracerProvider(resource=resources.Resource.create(service))
    provider.add_span_processor(processor)
    return OpenTelemetryTracing(provider)


def _exporter(name: str, export: Any, environment: Mapping[str, str]) -> Any:  # noqa: ANN401
    if name == "console":
        return export.ConsoleSpanExporter()
    if name != "otlp":
        raise StartupError(f"{_EXPORTERS}: {name!r} is unknown; use otlp, console or none")
    protocols = (environment.get(variable) for variable in _PROTOCOLS)
    protocol = next(filter(None, protocols), "http/protobuf")
    if protocol != "http/protobuf":
        raise StartupError(f"{_PROTOCOLS[1]}: {protocol!r} is not supported; use http/protobuf")
    module = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    return module.OTLPSpanExporter()
