"""Error answers: the one table that turns errors into HTTP answers, and the body of an error."""

from __future__ import annotations

import re
from dataclasses import dataclass

from server.errors import (
    AuthenticationError,
    BodyTimeoutError,
    BodyTooLargeError,
    GenerationTimeoutError,
    HeadersTooLargeError,
    MediaTypeError,
    MethodNotAllowedError,
    NotFoundError,
    OverloadedError,
    RequestError,
    ServerError,
    UnavailableError,
)
from server.request_errors import MalformedHttpError


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """How one class of errors is answered.

    Args:
        status: HTTP status.
        kind: OpenAI's `error.type`.
        headers: extra response headers.
    """

    status: int
    kind: str
    headers: tuple[tuple[str, str], ...] = ()


_RETRY_SOON = (("retry-after", "1"), ("retry-after-ms", "500"))
_NEVER_RETRY = (("x-should-retry", "false"),)

ANSWER_OF: dict[type[ServerError], HttpAnswer] = {
    RequestError: HttpAnswer(400, "invalid_request_error"),
    MalformedHttpError: HttpAnswer(400, "invalid_request_error", (("connection", "close"),)),
    AuthenticationError: HttpAnswer(
        401, "invalid_request_error", (("www-authenticate", "Bearer"),)
    ),
    NotFoundError: HttpAnswer(404, "invalid_request_error"),
    MethodNotAllowedError: HttpAnswer(405, "invalid_request_error"),
    BodyTimeoutError: HttpAnswer(408, "invalid_request_error", _NEVER_RETRY),
    BodyTooLargeError: HttpAnswer(413, "invalid_request_error"),
    MediaTypeError: HttpAnswer(415, "invalid_request_error"),
    HeadersTooLargeError: HttpAnswer(431, "invalid_request_error"),
    OverloadedError: HttpAnswer(429, "rate_limit_error", _RETRY_SOON),
    UnavailableError: HttpAnswer(503, "server_error", _RETRY_SOON),
    GenerationTimeoutError: HttpAnswer(504, "server_error", _NEVER_RETRY),
    ServerError: HttpAnswer(500, "server_error", _NEVER_RETRY),
}


def answer_of(error: ServerError) -> HttpAnswer:
    """The entry of the nearest ancestor in `ANSWER_OF`."""
    return next(ANSWER_OF[kind] for kind in type(error).__mro__ if kind in ANSWER_OF)


def error_body(error: ServerError) -> dict[str, dict[str, str | None]]:
    """The body of every error, in HTTP answers and in streams: all four keys, always."""
    return {
        "error": {
            "message": error.message,
            "type": answer_of(error).kind,
            "param": error.param,
            "code": error.code,
        }
    }


def reason_of(error: ServerError) -> str:
    """What was wrong in one word for metrics, as `context_length`: the name of the class."""
    name = type(error).__name__.removesuffix("Error")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
