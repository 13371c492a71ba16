"""ErrorShape: how each API writes an error; the path of a request says which API it is."""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, assert_never

from server.error_answers import answer_of, error_body
from server.request_errors import UnsupportedThreadError

if TYPE_CHECKING:
    from server.errors import ServerError


class ErrorShape(Enum):
    """Whose shape an error has."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OLLAMA = "ollama"


_ANTHROPIC_KINDS: Final = MappingProxyType(  # HTTP status -> Anthropic's `error.type`
    {
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        408: "timeout_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        503: "overloaded_error",
        504: "timeout_error",
    }
)
"""All others are the request's fault: `invalid_request_error`."""


def error_shape(path: str) -> ErrorShape:
    """The shape that the clients of a path read."""
    if path == "/v1/messages" or path.startswith("/v1/messages/"):
        return ErrorShape.ANTHROPIC
    return ErrorShape.OLLAMA if path.startswith("/api/") else ErrorShape.OPENAI


def shaped_error(error: ServerError, shape: ErrorShape, request_id: str) -> dict[str, object]:
    """The body of an error; its status and headers are `answer_of`'s in every shape."""
    match shape:
        case ErrorShape.OPENAI:
            return dict(error_body(error))
        case ErrorShape.ANTHROPIC:
            return _anthropic_body(error, request_id)
        case ErrorShape.OLLAMA:
            return {"error": error.message}
        case _:
            assert_never(shape)


def id_headers(shape: ErrorShape, request_id: str) -> list[tuple[bytes, bytes]]:
    """The headers with a request's id, on every answer."""
    value = request_id.encode()
    if shape is ErrorShape.ANTHROPIC:
        return [(b"x-request-id", value), (b"request-id", value)]
    return [(b"x-request-id", value)]


def _anthropic_body(error: ServerError, request_id: str) -> dict[str, object]:
    kind = _ANTHROPIC_KINDS.get(answer_of(error).status, "invalid_request_error")
    told: dict[str, object] = {"type": kind, "message": error.message}
    if isinstance(error, UnsupportedThreadError):
        told["details"] = {"error_code": error.code, "unsupported": ["thread"]}
    return {"type": "error", "error": told, "request_id": request_id}
