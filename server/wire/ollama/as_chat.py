"""as_chat: Ollama's requests as the chat requests that ask for the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from server.request_errors import InvalidValueError
from server.wire.chat_request import ChatCompletionRequest
from server.wire.formats import JsonObjectFormat
from server.wire.messages import SystemMessage, UserMessage
from server.wire.ollama.conversation import chat_messages
from server.wire.ollama.options import Options, ignored_options
from server.wire.ollama.request import ChatRequest, GenerateRequest, model_name
from server.wire.tools import FunctionTool
from server.wire.translation import Translation, thinking_fields

if TYPE_CHECKING:
    from server.wire.messages import Message

_NAMES: Final = {
    "json_schema": "format",
    "max_tokens": "options.num_predict",
    "reasoning_effort": "think",
    "response_format": "format",
    "stop": "options.stop",
}
_CARRIED: Final = ("keep_alive", "truncate", "shift")
"""Taken without effect: the model stays loaded, and prompts are never cut."""


def as_chat(request: ChatRequest | GenerateRequest, unknown: tuple[str, ...]) -> Translation:
    """The chat request that asks for the same; that of a raw prompt has no messages.

    Args:
        request: the typed body.
        unknown: its fields that nobody knows.

    Raises:
        RequestError: a message or an option that cannot be honoured.
    """
    options = request.options or Options()
    thinks = request.think if isinstance(request.think, bool) else None
    effort = None if isinstance(request.think, bool) else request.think
    fields: dict[str, object] = {
        "model": model_name(request.model),
        "messages": _messages(request),
        "tools": _tools(request),
        "logprobs": request.logprobs,
        "top_logprobs": request.top_logprobs,
        **_format_fields(request.format),
        **_option_fields(options),
        **thinking_fields(thinks=thinks, effort=effort),
    }
    carried = [name for name in _CARRIED if getattr(request, name) is not None]
    is_chat = isinstance(request, ChatRequest)
    return Translation(
        request=ChatCompletionRequest.model_validate(fields),
        names=_NAMES if is_chat else {**_NAMES, "messages": "prompt"},
        ignored=(*carried, *ignored_options(options)),
        unknown=unknown,
        thinks=thinks,
        thinking_name="think",
        effort_name="think",
    )


def _messages(request: ChatRequest | GenerateRequest) -> list[Message]:
    if isinstance(request, ChatRequest):
        return chat_messages(request.messages or [])
    if request.raw:
        return []
    system = [SystemMessage(role="system", content=request.system)] if request.system else []
    return [*system, UserMessage(role="user", content=request.prompt or "")]


def _tools(request: ChatRequest | GenerateRequest) -> list[FunctionTool] | None:
    given = (request.tools if isinstance(request, ChatRequest) else None) or []
    return [FunctionTool(type="function", function=tool.function) for tool in given] or None


def _format_fields(given: str | dict[str, object] | None) -> dict[str, object]:
    if not given and given != {}:
        return {}
    if isinstance(given, str):
        return {"response_format": JsonObjectFormat(type="json_object")}
    return {"json_schema": given}


def _option_fields(options: Options) -> dict[str, object]:
    if options.num_predict == 0:
        raise InvalidValueError("options.num_predict", "at least 1 is needed; -1 means no limit")
    is_limited = options.num_predict is not None and options.num_predict > 0
    return {
        "max_tokens": options.num_predict if is_limited else None,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "min_p": options.min_p,
        "repetition_penalty": options.repeat_penalty,
        "presence_penalty": options.presence_penalty,
        "frequency_penalty": options.frequency_penalty,
        "seed": options.seed,
        "stop": options.stop or None,
    }
