"""as_chat: a responses request as the chat request that asks for the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from server.errors import RequestError
from server.request_errors import InvalidResponseFormatError, renamed
from server.wire.chat_request import ChatCompletionRequest
from server.wire.formats import JsonSchemaFormat, NamedSchema
from server.wire.messages import ToolMessage
from server.wire.responses.conversation import ConversationWriter
from server.wire.responses.items import MessageItem
from server.wire.responses.request import FlatJsonSchemaFormat
from server.wire.responses.tools import chat_tool, chat_tool_choice
from server.wire.sampling_fields import sampling_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.wire.formats import ResponseFormat
    from server.wire.responses.items import GivenItem
    from server.wire.responses.request import ResponsesRequest, TextOptions
    from server.wire.translation import PlacedMessages

_INPUT: Final = "input"


@dataclass(frozen=True, slots=True)
class ChatOfResponse:
    """The chat request, and how its refusals are renamed.

    Args:
        request: what the engine is asked.
        names: beginnings of paths in it -> what stands there in the caller's body.
    """

    request: ChatCompletionRequest
    names: dict[str, str]

    def refusal(self, error: RequestError) -> RequestError:
        """The same refusal in the names of the Responses API."""
        if isinstance(error, InvalidResponseFormatError) and error.param == "response_format":
            message = error.message.replace("response_format", "text.format.schema")
            return RequestError(message, param="text.format.schema", code="invalid_json_schema")
        return renamed(error, self.names)


def as_chat(
    request: ResponsesRequest, history: Sequence[GivenItem], given: Sequence[GivenItem]
) -> ChatOfResponse:
    """The chat request that asks for the same.

    Args:
        request: the typed body.
        history: what was said and answered up to `previous_response_id`.
        given: the items of `input`, references among them resolved.
    """
    writer = ConversationWriter()
    if request.instructions is not None:
        system = MessageItem(type="message", role="system", content=request.instructions)
        writer.add_items([("instructions", system)])
    writer.add_items(("previous_response_id", item) for item in history)
    is_text = isinstance(request.input, str)
    writer.add_items(
        (_INPUT if is_text else f"{_INPUT}[{index}]", item) for index, item in enumerate(given)
    )
    conversation = writer.finish()
    text = request.text
    chat = ChatCompletionRequest.model_validate(
        sampling_fields(request)
        | {
            "model": request.model,
            "messages": conversation.messages,
            "stream": request.stream,
            "tools": None if request.tools is None else [chat_tool(t) for t in request.tools],
            "tool_choice": chat_tool_choice(request.tool_choice),
            "parallel_tool_calls": request.parallel_tool_calls,
            "response_format": None if text is None else _response_format(text),
            "verbosity": None if text is None else text.verbosity,
            "max_tokens": request.max_output_tokens,
            "logprobs": request.has_logprobs,
            "top_logprobs": request.top_logprobs if request.has_logprobs else None,
            "reasoning_effort": None if request.reasoning is None else request.reasoning.effort,
            "thinking_token_budget": request.thinking_token_budget,
            "chat_template_kwargs": request.chat_template_kwargs,
        }
    )
    return ChatOfResponse(chat, _names(chat, conversation))


def _response_format(text: TextOptions) -> ResponseFormat | None:
    if not isinstance(text.format, FlatJsonSchemaFormat):
        return text.format
    schema = NamedSchema(
        name=text.format.name,
        schema=text.format.schema_,
        description=text.format.description,
        strict=text.format.strict,
    )
    return JsonSchemaFormat(type="json_schema", json_schema=schema)


def _names(chat: ChatCompletionRequest, conversation: PlacedMessages) -> dict[str, str]:
    names = {
        "messages": _INPUT,
        "max_tokens": "max_output_tokens",
        "reasoning_effort": "reasoning.effort",
        "verbosity": "text.verbosity",
        "response_format": "text.format",
        "response_format.json_schema": "text.format",
        "tool_choice.function": "tool_choice",
        "tool_choice.custom": "tool_choice",
        "tool_choice.allowed_tools": "tool_choice",
    }
    names |= conversation.names()
    names[f"messages[{len(conversation.places)}].role"] = _INPUT  # calls without results at the end
    for index, (message, place) in enumerate(
        zip(conversation.messages, conversation.places, strict=True)
    ):
        if isinstance(message, ToolMessage):
            names[f"messages[{index}].role"] = f"{place}.call_id"
    for index, tool in enumerate(chat.tools or ()):
        names[f"tools[{index}].{tool.type}"] = f"tools[{index}]"
    return names
