"""Gate: the outermost ASGI layer: request ids, API keys, the last catch of errors, counts."""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import ClientDisconnect

from server.body_load import BodyLoad
from server.error_answers import answer_of
from server.error_shapes import error_shape, id_headers, shaped_error
from server.errors import (
    AuthenticationError,
    HeadersTooLargeError,
    InternalError,
    ServerError,
    UnavailableError,
)
from server.key_load import KeyLoad
from server.logs import request_id_of_task
from server.request_errors import MalformedHttpError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from server.config import ServerConfig
    from server.lifecycle import Lifecycle
    from server.metrics import Metrics
    from server.tracing import Tracing

_OPEN_PATHS = frozenset({"/health", "/ready"})
"""Served without a key: they say nothing but yes or no."""

_log = logging.getLogger(__name__)


class Gate:
    """Wraps the application.

    * Every answer has an `x-request-id` of our own making; one that a client sends is not used.
    * Once keys are set, every path but those above needs one, unknown paths too.
    * A key may have `max_requests_per_key` POSTs under way.
    * Once the server drains, new requests are refused, except for those paths.
    * Whatever is raised below becomes an error body; the traceback goes to the log alone.

    Args:
        app: the application.
        config: keys, the limits of headers and of a key's requests.
        metrics: counts answers.
        lifecycle: knows whether the server drains, and counts requests under way.
        tracing: continues the client's trace.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        config: ServerConfig,
        metrics: Metrics,
        lifecycle: Lifecycle,
        tracing: Tracing,
    ) -> None:
        self._app = app
        self._api_key_hashes = config.api_key_hashes
        self._max_header_bytes = config.max_header_bytes
        self._metrics = metrics
        self._lifecycle = lifecycle
        self._tracing = tracing
        self._key_load = KeyLoad(config.max_requests_per_key)
        self._body_load = BodyLoad(config.max_total_body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        request_id = f"req_{uuid.uuid4().hex}"
        request_id_of_task.set(request_id)
        shape = error_shape(scope["path"])
        scope.setdefault("state", {})["request_id"] = request_id
        status: int | None = None

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    *id_headers(shape, request_id),
                ]
            await send(message)

        try:
            with ExitStack() as stack:
                self._admit(scope, stack)
                await self._app(scope, receive, send_with_id)
        except ServerError as refusal:
            self._metrics.count_refusal(refusal)
            await _send_error(send_with_id, refusal, shaped_error(refusal, shape, request_id))
        except ClientDisconnect:
            _log.info("%s: the client has gone", request_id)
        except Exception:
            _log.exception("%s: unexpected error", request_id)
            if status is not None:
                raise  # the answer has begun: the connection must break
            message = f"An error of the server; its log has it under {request_id}"
            fault = InternalError(message)
            await _send_error(send_with_id, fault, shaped_error(fault, shape, request_id))
        finally:
            # The route's own path: its label must not grow with what clients make up.
            path = getattr(scope.get("route"), "path", "other")
            told = "gone" if status is None else status
            self._metrics.http_requests.labels(path, told).inc()
            seconds = round(time.perf_counter() - began, 6)
            facts = {"method": scope["method"], "path": path, "status": told, "seconds": seconds}
            _log.info("%s: %s %s %s, %g s", request_id, *facts.values(), extra={"fields": facts})

    def _admit(self, scope: Scope, stack: ExitStack) -> None:
        """Check a request before its body is looked at, and count it while it is answered.

        Args:
            scope: the request.
            stack: left when it has been answered.

        Raises:
            ServerError: it is refused.
        """
        headers = dict(scope["headers"])
        if _num_header_bytes(scope) > self._max_header_bytes:
            raise HeadersTooLargeError(self._max_header_bytes)
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # RFC 9112, section 6.1: where proxies disagree on the end, requests can be smuggled.
            raise MalformedHttpError("Send Content-Length or Transfer-Encoding, not both")
        if scope["path"] not in _OPEN_PATHS:
            key = self._known_key(headers) if self._api_key_hashes else None
            scope["state"]["key_digest"] = key
            if self._lifecycle.is_draining and scope["path"] != "/metrics":
                raise UnavailableError(
                    "The server is shutting down; send the request to another one"
                )
            if key is not None and scope["method"] == "POST":
                stack.enter_context(self._key_load.counted(key))
        if scope["method"] == "POST":
            stack.enter_context(self._metrics.http_requests_running.track_inprogress())
            counted = stack.enter_context(self._body_load.counted())
            scope["state"]["take_body_bytes"] = counted
        stack.enter_context(self._lifecycle.answering())
        stack.enter_context(self._tracing.incoming(_trace_headers(headers)))

    def _known_key(self, headers: Mapping[bytes, bytes]) -> bytes:
        """The digest of the request's key.

        Raises:
            AuthenticationError: it has none that is known.
        """
        for key in _given_keys(headers):
            digest = hashlib.sha256(key.strip()).digest()
            # All are compared, so the time does not tell which one came close.
            if sum(hmac.compare_digest(digest, known) for known in self._api_key_hashes) > 0:
                return digest
        raise AuthenticationError


def _given_keys(headers: Mapping[bytes, bytes]) -> list[bytes]:
    """The keys of a request: OpenAI's clients send a bearer token, Anthropic's an `x-api-key`."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    bearer = [token] if scheme.lower() == b"bearer" else []
    return [*bearer, *([headers[b"x-api-key"]] if b"x-api-key" in headers else [])]


def _trace_headers(headers: Mapping[bytes, bytes]) -> dict[str, str]:
    """The client's trace (W3C Trace Context), as far as it is there."""
    return {
        name: headers[name.encode()].decode("latin-1")
        for name in ("traceparent", "tracestate")
        if name.encode() in headers
    }


def _num_header_bytes(scope: Scope) -> int:
    lines = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    return len(scope["raw_path"]) + len(scope["query_string"]) + lines


async def _send_error(send: Send, error: ServerError, told: Mapping[str, object]) -> None:
    answer = answer_of(error)
    body = msgspec.json.encode(told)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers += [(name.encode(), value.encode()) for name, value in answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
