"""Kinds of RequestError: what is wrong with a request, in words that its caller can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping


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


def without_root(reason: str) -> str:
    """A refusal of the grammars room, of what has no places of a document in it."""
    return reason.removeprefix("(root): ")


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
