"""What a request lets the model do with tools, as one plain value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, assert_never

from server.tool_schema import argument_schema
from server.wire.tools import AllowedToolsChoice, NamedToolChoice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.wire.chat_request import ChatCompletionRequest


class CallMode(Enum):
    """Whether there are calls in the answer."""

    NONE = "none"  # no tools, or they may not be called
    AUTO = "auto"  # the model decides
    REQUIRED = "required"  # one or more calls, and nothing else
    NAMED = "named"  # exactly one call of the only tool


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The tools that may be called, and how.

    Args:
        mode: see `CallMode`; NONE exactly when `schemas` is empty.
        schemas: function name -> JSON Schema of its arguments, in the request's order.
        max_calls: calls of one answer at most; None: no bound.
    """

    mode: CallMode
    schemas: Mapping[str, dict[str, object]]
    max_calls: int | None = None


def tool_use(request: ChatCompletionRequest) -> ToolUse:
    """What the request's tools, tool_choice and parallel_tool_calls come to.

    Raises:
        InvalidToolError: parameters that cannot be those of an object.
    """
    schemas = {
        tool.function.name: argument_schema(tool.function, index)
        for index, tool in enumerate(request.tools or [])
    }
    choice = request.tool_choice
    max_calls = 1 if request.parallel_tool_calls is False else None
    match choice:
        case "none":
            return ToolUse(CallMode.NONE, {})
        case None | "auto":
            return ToolUse(CallMode.AUTO if schemas else CallMode.NONE, schemas, max_calls)
        case "required":
            return ToolUse(CallMode.REQUIRED, schemas, max_calls)
        case NamedToolChoice():
            name = choice.function.name
            return ToolUse(CallMode.NAMED, {name: schemas[name]}, 1)
        case AllowedToolsChoice():
            allowed = {tool.function.name for tool in choice.allowed_tools.tools}
            mode = CallMode(choice.allowed_tools.mode)
            kept = {name: schema for name, schema in schemas.items() if name in allowed}
            return ToolUse(mode, kept, max_calls)
        case _:
            assert_never(choice)
