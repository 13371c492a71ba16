"""as_chat: a Messages request as the chat request that asks for the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from server.request_errors import InvalidValueError, MissingFieldError
from server.wire.anthropic.conversation import chat_messages, is_attribution
from server.wire.anthropic.ignored import ignored_fields
from server.wire.anthropic.request import MessagesRequest
from server.wire.chat_request import ChatCompletionRequest
from server.wire.messages import AssistantMessage, ToolMessage
from server.wire.tools import FunctionDefinition, FunctionTool, NamedToolChoice, ToolName
from server.wire.translation import Translation, thinking_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.wire.anthropic.request import CountTokensRequest, ToolDefinition
    from server.wire.anthropic.request import ToolChoice as GivenChoice
    from server.wire.messages import Message
    from server.wire.tools import ToolChoice
    from server.wire.translation import PlacedMessages

_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none"}
"""Anthropic's word for a tool choice -> OpenAI's."""
_EFFORT: Final = "output_config.effort"


def as_chat(request: CountTokensRequest, unknown: tuple[str, ...]) -> Translation:
    """The chat request that asks for the same.

    * Where no thinking is asked for, it is turned off, so that the first block is the answer's.
    * A last message of the assistant is continued.

    Args:
        request: the typed body.
        unknown: its fields that nobody knows.

    Raises:
        InvalidValueError: a block that messages of its role do not have, or two formats.
        MissingFieldError: a tool choice without the tool's name.
    """
    placed = chat_messages(request.messages, request.system)
    thinks = _thinks(request)
    effort = _effort(request)
    unused_effort = [_EFFORT] if thinks is False and effort is not None else []
    schema, schema_name = _schema(request)
    fields: dict[str, object] = {
        "model": request.model,
        "messages": placed.messages,
        "tools": [_chat_tool(tool) for tool in request.tools or []] or None,
        "tool_choice": _chat_choice(request.tool_choice),
        "parallel_tool_calls": _is_parallel(request.tool_choice),
        "json_schema": schema,
        "continue_final_message": _goes_on(placed.messages) or None,
        **thinking_fields(thinks=thinks, effort=effort),
    }
    if isinstance(request, MessagesRequest):
        fields |= {
            "max_tokens": request.max_tokens,
            "thinking_token_budget": _thinking_budget(request),
            "stop": request.stop_sequences or None,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "top_k": request.top_k,
        }
    return Translation(
        request=ChatCompletionRequest.model_validate(fields),
        names=_names(request, placed, schema_name),
        ignored=(*ignored_fields(request), *_attributions(request), *unused_effort),
        unknown=unknown,
        thinks=thinks,
        thinking_name="thinking",
        effort_name=_EFFORT,
    )


def _names(request: CountTokensRequest, placed: PlacedMessages, schema_name: str) -> dict[str, str]:
    names = placed.names() | {
        "continue_final_message": f"messages[{len(request.messages) - 1}]",
        "json_schema": schema_name,
        "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
        "stop": "stop_sequences",
        "thinking_token_budget": "thinking.budget_tokens",
        "tool_choice.function": "tool_choice",
    }
    for index in range(len(request.tools or [])):
        names[f"tools[{index}].function"] = f"tools[{index}]"
        names[f"tools[{index}].function.parameters"] = f"tools[{index}].input_schema"
    for index, message in enumerate(placed.messages):
        if isinstance(message, ToolMessage):
            names[f"messages[{index}].role"] = f"{placed.places[index]}.tool_use_id"
    return names


def _schema(request: CountTokensRequest) -> tuple[dict[str, object] | bool | None, str]:
    """The schema of the text, and the field that it stands in."""
    config, older = request.output_config, request.output_format
    if config is None or config.format is None:
        return None if older is None else older.schema_, "output_format.schema"
    if older is not None:
        raise InvalidValueError("output_format", "cannot be combined with output_config.format")
    return config.format.schema_, "output_config.format.schema"


def _thinks(request: CountTokensRequest) -> bool | None:
    """Adaptive thinking is the model's own choice; thinking that nobody speaks of is turned off."""
    if request.thinking is None:
        return None if _effort(request) is not None else False
    if request.thinking.type == "disabled":
        return False
    return True if request.thinking.type == "enabled" else None


def _thinking_budget(request: MessagesRequest) -> int | None:
    """Clients leave a budget (of 0) beside other types, where it means nothing."""
    thinking = request.thinking
    return None if thinking is None or thinking.type != "enabled" else thinking.budget_tokens


def _effort(request: CountTokensRequest) -> str | None:
    return None if request.output_config is None else request.output_config.effort


def _chat_tool(tool: ToolDefinition) -> FunctionTool:
    function = FunctionDefinition(
        name=tool.name,
        description=tool.description,
        parameters=tool.input_schema,
        strict=tool.strict,
    )
    return FunctionTool(type="function", function=function)


def _chat_choice(choice: GivenChoice | None) -> ToolChoice | str | None:
    if choice is None:
        return None
    if choice.type != "tool":
        return _CHOICES[choice.type]
    if choice.name is None:
        raise MissingFieldError("tool_choice.name")
    return NamedToolChoice(type="function", function=ToolName(name=choice.name))


def _is_parallel(choice: GivenChoice | None) -> bool | None:
    if choice is None or choice.disable_parallel_tool_use is None:
        return None
    return not choice.disable_parallel_tool_use


def _goes_on(messages: Sequence[Message]) -> bool:
    """Whether the answer goes on with the last message."""
    last = messages[-1] if messages else None
    return isinstance(last, AssistantMessage) and bool(last.content) and not last.tool_calls


def _attributions(request: CountTokensRequest) -> list[str]:
    blocks = [] if request.system is None or isinstance(request.system, str) else request.system
    return [f"system[{index}]" for index, block in enumerate(blocks) if is_attribution(block)]
