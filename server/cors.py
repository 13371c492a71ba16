"""Cors: which web pages may call the server; preflights are answered without an API key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from server.error_answers import error_body
from server.errors import RequestError

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import ASGIApp

_OWN_HEADERS: Final = (
    "x-request-id",
    "request-id",
    "x-tightrope-enforced",
    "x-tightrope-ignored",
    "x-tightrope-unknown",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
)
"""What clients in browsers read of answers, beside what all pages may."""

_MAX_AGE_S: Final = 600


class Cors(CORSMiddleware):
    """CORS (Fetch standard, section 3.2) around the application, for configured origins alone.

    Keys travel in a header, so no credentials of browsers are needed nor allowed.

    Args:
        app: the application.
        origins: as `ServerConfig.cors_origins`.
    """

    def __init__(self, app: ASGIApp, *, origins: tuple[str, ...]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            expose_headers=_OWN_HEADERS,
            max_age=_MAX_AGE_S,
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """The framework's answer; a refusal has the shape of all errors."""
        answer = super().preflight_response(request_headers)
        if answer.status_code < 400:
            return answer
        error = RequestError(
            "This origin, method or header may not be used from a web page; see --cors-origins"
        )
        body = msgspec.json.encode(error_body(error))
        return Response(body, status_code=400, media_type="application/json")
