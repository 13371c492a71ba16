"""Ollama's messages to the messages of a chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from server.request_errors import InvalidValueError, UnsupportedValueError
from server.wire.messages import (
    AssistantMessage,
    CalledFunction,
    SystemMessage,
    ToolCallMessage,
    ToolMessage,
    UserMessage,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.wire.messages import Message
    from server.wire.ollama.request import GivenMessage

_PLACE: Final = "messages["
"""Begins the ids of calls that were given without one."""


def chat_messages(given: Sequence[GivenMessage]) -> list[Message]:
    """The same messages, at the same places; calls without ids get some.

    Raises:
        InvalidValueError: a result that belongs to no call.
        UnsupportedValueError: images.
    """
    messages: list[Message] = []
    waiting: list[ToolCallMessage] = []  # calls without a result
    for index, message in enumerate(given):
        if message.images:
            raise UnsupportedValueError(
                f"messages[{index}].images", "the served models read text alone; remove them"
            )
        content = message.content or ""
        match message.role:
            case "system":
                messages.append(SystemMessage(role="system", content=content))
            case "user":
                messages.append(UserMessage(role="user", content=content))
            case "assistant":
                assistant = _assistant_message(message, index)
                messages.append(assistant)
                waiting = list(assistant.tool_calls or [])
            case "tool":
                call_id = _taken_call(message, index, waiting)
                messages.append(ToolMessage(role="tool", content=content, tool_call_id=call_id))
    return messages


def _assistant_message(message: GivenMessage, index: int) -> AssistantMessage:
    """An id that is missing is the call's place, which errors then name."""
    calls = [
        ToolCallMessage(
            id=call.id or f"{_PLACE}{index}].tool_calls[{place}]",
            function=CalledFunction(name=call.function.name, arguments=call.function.arguments),
        )
        for place, call in enumerate(message.tool_calls or [])
    ]
    return AssistantMessage(
        role="assistant",
        content=message.content,
        reasoning_content=message.thinking,
        tool_calls=calls or None,
    )


def _taken_call(message: GivenMessage, index: int, waiting: list[ToolCallMessage]) -> str:
    """The id of the call that a result answers, which waits no longer.

    For a call that was given without an id, clients may have made one up.
    """
    by_id = [call for call in waiting if call.id == message.tool_call_id]
    by_name = [
        call
        for call in waiting
        if message.tool_call_id is None or call.id.startswith(_PLACE)
        if call.function is not None and message.tool_name in (None, call.function.name)
    ]
    if not (fitting := by_id or by_name):
        raise InvalidValueError(f"messages[{index}]", "no call before this result waits for it")
    waiting.remove(fitting[0])
    return fitting[0].id
