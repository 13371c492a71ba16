"""Errors of the server room, by the status that they are answered with.

ServerError
├── RequestError                 the caller must change the request (400)
│   ├── MalformedHttpError           what came is not HTTP/1.1
│   ├── MalformedBodyError           not a JSON object in UTF-8, or past a limit of the JSON guard
│   ├── InvalidValueError            a field has a value that it may not have
│   ├── MissingFieldError            a required field is absent
│   ├── UnsupportedParameterError    a field that we do not honour and may not ignore
│   │   └── UnsupportedThreadError       Anthropic's `thread`: its clients send all messages instead
│   ├── UnsupportedValueError        a known field, with a value that we do not honour
│   ├── UnknownParameterError        a field that nobody knows (--strict-params only)
│   ├── ContextLengthError           the prompt does not fit
│   ├── InvalidResponseFormatError   the grammars room refused the response format
│   └── InvalidToolError             a tool's parameters cannot be enforced
├── AuthenticationError          no key, or a wrong one (401)
├── NotFoundError                unknown path (404)
│   └── ModelNotFoundError           unknown model
├── MethodNotAllowedError        (405)
├── BodyTimeoutError             the body came too slowly (408)
├── BodyTooLargeError            (413)
├── MediaTypeError               not application/json (415)
├── HeadersTooLargeError         (431)
├── OverloadedError              too many requests are waiting (429)
├── InternalError                our own fault (500)
├── UnavailableError             starting, draining, or the engine is dead (503)
├── GenerationTimeoutError       the generation took longer than allowed (504)
└── StartupError                 the server cannot serve this model; never an answer to a request

Those below RequestError are in `server.request_errors`. One table, in `server.error_answers`, turns
all of them into HTTP answers. Errors of the other rooms become one of these in `server.admission`
and `server.generation`.
"""

from __future__ import annotations

from typing import Final

_MAX_MESSAGE_CHARS: Final = 1_900
_MAX_PARAM_CHARS: Final = 500


def _shortened(text: str, max_chars: int) -> str:
    """A text of which a caller wrote more than anybody reads, without its middle."""
    if len(text) <= max_chars:
        return text
    num_head = max_chars * 3 // 4  # the rest: behind what was given stands the way out
    return f"{text[:num_head]} [...] {text[num_head - max_chars :]}"


class ServerError(Exception):
    """Base of everything that server/ raises on purpose.

    Args:
        message: stands alone (what, where, the way out): clients print nothing else. It is
            shortened in the middle, as `param` is: both may quote a key of megabytes.
        param: path of the field concerned, as `tools[3].function.parameters`, if there is one.
        code: OpenAI's machine-readable code, if one fits.
    """

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        message = _shortened(message, _MAX_MESSAGE_CHARS)
        self.message = message
        self.param = None if param is None else _shortened(param, _MAX_PARAM_CHARS)
        self.code = code
        super().__init__(message)


class RequestError(ServerError):
    """The request is refused; sending it again unchanged cannot help."""


class AuthenticationError(ServerError):
    """No API key was given, or one that is not ours."""

    def __init__(self) -> None:
        super().__init__(
            "A valid API key is needed: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'",
            code="invalid_api_key",
        )


class NotFoundError(ServerError):
    """Nothing is served at this path."""


class ModelNotFoundError(NotFoundError):
    """The model asked for is not the one served here."""

    def __init__(self, given: str, served: tuple[str, ...]) -> None:
        super().__init__(
            f"The model {given[:100]!r} is not served here; use one of: {', '.join(served)}",
            param="model",
            code="model_not_found",
        )


class MethodNotAllowedError(ServerError):
    """The path exists, with another HTTP method."""


class BodyTimeoutError(ServerError):
    """The request body did not arrive in time."""


class BodyTooLargeError(ServerError):
    """The request body has more bytes than allowed."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        super().__init__(
            f"The request body has more than max_body_bytes={limit_bytes} bytes; send less",
            code="body_too_large",
        )


class HeadersTooLargeError(ServerError):
    """The request line and headers have more bytes than allowed."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        super().__init__(f"The headers have more than max_header_bytes={limit_bytes} bytes")


class MediaTypeError(ServerError):
    """The body is not plain application/json."""


class OverloadedError(ServerError):
    """Too many requests are waiting already; this one may be sent again later."""


class InternalError(ServerError):
    """A fault of ours; the message never holds a path, a traceback or another caller's text."""


class UnavailableError(ServerError):
    """The server is starting or draining, or its engine has died."""


class GenerationTimeoutError(ServerError):
    """The generation took longer than `generation_timeout_s`."""


class StartupError(ServerError):
    """The server cannot serve this model."""
