"""What a request lets the model do with tools, as one plain value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from server.tool_schema import declared_tools
from server.wire.tools import (
    AllowedToolsChoice,
    NamedCustomChoice,
    NamedToolChoice,
    ToolName,
    name_of,
)

if TYPE_CHECKING:
    from server.calls.tool import CallableTool
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
        mode: see `CallMode`; NONE exactly when `tools` is empty.
        tools: in the request's order.
        max_calls: calls of one answer at most; None: no bound.
    """

    mode: CallMode
    tools: tuple[CallableTool, ...] = ()
    max_calls: int | None = None

    @property
    def allows_text(self) -> bool:
        """Whether the answer may be something else than calls."""
        return self.mode in (CallMode.NONE, CallMode.AUTO)


def tool_use(request: ChatCompletionRequest) -> ToolUse:
    """What the request's tools, tool_choice and parallel_tool_calls come to.

    Raises:
        InvalidToolError: parameters that cannot be those of an object.
    """
    tools = declared_tools(request)
    choice = request.tool_choice if request.functions is None else request.function_call
    is_single = request.parallel_tool_calls is False or request.functions is not None
    max_calls = 1 if is_single else None
    match choice:
        case "none":
            return ToolUse(CallMode.NONE)
        case "required":
            return ToolUse(CallMode.REQUIRED, tools, max_calls)
        case NamedToolChoice() | NamedCustomChoice():
            return ToolUse(CallMode.NAMED, _named(tools, {name_of(choice)}), 1)
        case ToolName(name=name):
            return ToolUse(CallMode.NAMED, _named(tools, {name}), 1)
        case AllowedToolsChoice(allowed_tools=allowed):
            names = {name_of(tool) for tool in allowed.tools}
            return ToolUse(CallMode(allowed.mode), _named(tools, names), max_calls)
        case _:
            return ToolUse(CallMode.AUTO if tools else CallMode.NONE, tools, max_calls)


def _named(tools: tuple[CallableTool, ...], names: set[str]) -> tuple[CallableTool, ...]:
    return tuple(tool for tool in tools if tool.name in names)
