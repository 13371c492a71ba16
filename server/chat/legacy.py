"""Older messages in today's form: `function_call` and messages of the role `function`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.request_errors import InvalidValueError
from server.wire.messages import (
    AssistantMessage,
    FunctionMessage,
    Message,
    ToolCallMessage,
    ToolMessage,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def modern_messages(messages: Sequence[Message]) -> list[Message]:
    """The same conversation with tool calls and tool messages; the places stay the same.

    Raises:
        InvalidValueError: a result of a function that was not called just before.
    """
    converted: list[Message] = []
    called: tuple[str, str] | None = None  # function name, id of its call
    for index, message in enumerate(messages):
        match message:
            case AssistantMessage(function_call=function) if function is not None:
                called = function.name, f"function_call_{index}"
                call = ToolCallMessage(id=called[1], function=function)
                calls = [*(message.tool_calls or []), call]
                converted.append(message.model_copy(update={"tool_calls": calls}))
            case FunctionMessage(name=name):
                if called is None or called[0] != name:
                    raise InvalidValueError(
                        f"messages[{index}].name",
                        f"no assistant message just before this one calls {name[:64]!r}",
                    )
                content = message.content or ""
                converted.append(
                    ToolMessage(role="tool", content=content, tool_call_id=called[1], name=name)
                )
                called = None
            case _:
                called = None
                converted.append(message)
    return converted
