"""Deltas: what the chunks of a stream add to one choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from server.answer.ids import new_call_id
from server.calls.tool import ToolKind
from server.reply.events import (
    CallArgumentsEvent,
    CallEndEvent,
    CallStartEvent,
    ReasoningEvent,
    ReplyEvent,
    TextEvent,
)

if TYPE_CHECKING:
    from server.answer.bodies import Json


class DeltaWriter:
    """Writes the events of one choice; calls are numbered, each gets its id with its start only.

    Args:
        is_legacy: calls are told by the older field `function_call`.
    """

    def __init__(self, *, is_legacy: bool) -> None:
        self._is_legacy = is_legacy
        self._call_index = -1
        self._kind = ToolKind.FUNCTION

    def delta(self, event: ReplyEvent) -> Json | None:
        """The delta that tells an event; None for one that clients see by what follows."""
        match event:
            case TextEvent(text):
                return {"content": text}
            case ReasoningEvent(text):
                return {"reasoning_content": text}
            case CallStartEvent(name, kind):
                self._call_index += 1
                self._kind = kind
                return self._call_start(name)
            case CallArgumentsEvent(text):
                return self._call_text(text)
            case CallEndEvent():
                return None
            case _:
                assert_never(event)

    def _call_start(self, name: str) -> Json:
        if self._is_legacy:
            return {"function_call": {"name": name, "arguments": ""}}
        start: Json = {"index": self._call_index, "id": new_call_id(), "type": self._kind.value}
        if self._kind is ToolKind.CUSTOM:
            start["custom"] = {"name": name, "input": ""}
        else:
            start["function"] = {"name": name, "arguments": ""}
        return {"tool_calls": [start]}

    def _call_text(self, text: str) -> Json:
        if self._is_legacy:
            return {"function_call": {"arguments": text}}
        more: Json = {"index": self._call_index}
        if self._kind is ToolKind.CUSTOM:
            more["custom"] = {"input": text}
        else:
            more["function"] = {"arguments": text}
        return {"tool_calls": [more]}
