"""Errors of the server room, and the one table that turns them into HTTP answers.

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

Errors of the other rooms become one of these in `server.admission` and `server.generation`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


_MAX_MESSAGE_CHARS: Final = 1_900
_MAX_PARAM_CHARS: Final = 500


def explain_os_error(error: OSError) -> str:
    """What the system refused, and of which file where it says so."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}"


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


class MalformedHttpError(RequestError):
    """What came over the connection is not HTTP/1.1, or its headers are too large."""


class MalformedBodyError(RequestError):
    """The body is not one JSON object in UTF-8, or passes a limit of the JSON guard."""

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message, param=param, code="invalid_json")


class InvalidValueError(RequestError):
    """A field has a value that it may not have."""

    def __init__(self, param: str, reason: str) -> None:
        super().__init__(f"{param}: {reason}", param=param, code="invalid_value")


class MissingFieldError(RequestError):
    """A required field is absent."""

    def __init__(self, param: str) -> None:
        super().__init__(
            f"{param}: this field is required", param=param, code="missing_required_parameter"
        )


class UnsupportedParameterError(RequestError):
    """A field that we do not honour, and whose silent loss would change what the caller gets."""

    def __init__(self, param: str, way_out: str) -> None:
        super().__init__(
            f"{param}: this parameter is not supported; {way_out}",
            param=param,
            code="unsupported_parameter",
        )


class UnsupportedThreadError(UnsupportedParameterError):
    """Anthropic's `thread`: the messages so far are not kept here.

    Clients know this refusal by its code, and send the whole conversation from then on.
    """

    def __init__(self) -> None:
        super().__init__("thread", "send all messages of the conversation without it")
        self.code = "thread_unsupported_request"


class UnsupportedValueError(RequestError):
    """A known field with a value that we do not honour."""

    def __init__(self, param: str, reason: str) -> None:
        super().__init__(f"{param}: {reason}", param=param, code="unsupported_value")


class UnknownParameterError(RequestError):
    """A field that nobody knows, while the server runs with --strict-params."""

    def __init__(self, param: str) -> None:
        super().__init__(
            f"{param}: unknown parameter; remove it or start the server without --strict-params",
            param=param,
            code="unknown_parameter",
        )


class ContextLengthError(RequestError):
    """The prompt leaves no room for an answer.

    Args:
        num_prompt_tokens: tokens of the rendered prompt.
        max_model_len: tokens of prompt and answer together that the model takes.
        is_exact: False: `num_prompt_tokens` is a lower bound, counting it all would take too long.
    """

    def __init__(
        self, num_prompt_tokens: int, max_model_len: int, *, is_exact: bool = True
    ) -> None:
        self.num_prompt_tokens = num_prompt_tokens
        self.max_model_len = max_model_len
        count = f"{num_prompt_tokens}" if is_exact else f"at least {num_prompt_tokens}"
        super().__init__(
            f"This model's maximum context length is {max_model_len} tokens, but the messages "
            f"(with tools and template) come to {count} tokens and at least one is needed for the "
            "answer; shorten the messages",
            param="messages",
            code="context_length_exceeded",
        )


class InvalidResponseFormatError(RequestError):
    """The grammars room refused the response format.

    Args:
        param: the field concerned.
        reason: that room's own message.
        kind: what the field holds: "schema", "pattern", "grammar" or "constraint".
        name: what the caller calls it.
    """

    def __init__(
        self, param: str, reason: str, *, kind: str = "schema", name: str | None = None
    ) -> None:
        which = param if name is None else f"{param} '{name}'"
        super().__init__(f"Invalid {kind} for {which}: {reason}", param=param)


class InvalidToolError(RequestError):
    """What a tool may be called with cannot be enforced.

    Args:
        param: path of its parameters, as `tools[3].function.parameters`.
        name: of the tool.
        reason: the grammars room's own message, or ours.
        kind: what cannot be enforced.
    """

    def __init__(
        self, param: str, name: str, reason: str, *, kind: str = "schema for function"
    ) -> None:
        super().__init__(
            f"Invalid {kind} '{name}': {reason}",
            param=param,
            code="invalid_function_parameters",
        )


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


def renamed(error: RequestError, names: Mapping[str, str]) -> RequestError:
    """The same refusal in the names of another endpoint, which made a chat request of its body.

    Args:
        error: its `param` is a path in the chat request.
        names: the beginnings of such paths -> what stands there in the caller's body; the longest
            that fits counts, and a path that none fits stays as it is.
    """
    param = error.param or ""
    fitting = [
        name for name in names if param == name or param.startswith((f"{name}.", f"{name}["))
    ]
    if not fitting:
        return error
    name = max(fitting, key=len)
    renamed_param = names[name] + param.removeprefix(name)
    message = error.message.replace(param, renamed_param, 1)
    return RequestError(message, param=renamed_param, code=error.code)


def reason_of(error: ServerError) -> str:
    """What was wrong in one word for metrics, as `context_length`: the name of the class."""
    name = type(error).__name__.removesuffix("Error")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


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
