"""Deltas: what the chunks of a stream add to one choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

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
    from collections.abc import Iterable, Iterator

    from server.answer.bodies import AnswerHead, Json

_ORDER: Final = ("reasoning_content", "reasoning", "content", "function_call", "tool_calls")
"""In which clients read the fields of a delta."""


class DeltaWriter:
    """Writes the events of one choice; calls are numbered, each gets its id with its start only.

    Args:
        head: of the answer.
        is_legacy: calls are in the older field `function_call`.
    """

    def __init__(self, head: AnswerHead, *, is_legacy: bool) -> None:
        self._head = head
        self._is_legacy = is_legacy
        self._call_index = -1
        self._kind = ToolKind.FUNCTION

    def deltas(self, events: Iterable[ReplyEvent]) -> Iterator[Json]:
        """The events of one step as deltas: a single one wherever that is possible.

        A delta has one place for each kind of text, which clients read in one order; and the first
        fragment of a call has no arguments, which some of them rely on. So text behind a call, and
        the arguments behind their call's start, begin another delta.
        """
        joined: Json = {}
        for event in events:
            delta = self._delta(event)
            if delta is None:
                continue
            if joined and not _may_follow(joined, delta):
                yield joined
                joined = {}
            calls = [*_calls(joined), *_calls(delta)]
            joined |= delta | ({"tool_calls": calls} if calls else {})
        if joined:
            yield joined

    def _delta(self, event: ReplyEvent) -> Json | None:
        """An event as a delta; None for one that clients see by what follows."""
        match event:
            case TextEvent(text):
                return {"content": text}
            case ReasoningEvent(text):
                return self._head.reasoning(text)
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


def _may_follow(before: Json, delta: Json) -> bool:
    """Whether one delta can hold both, in order."""
    if "tool_calls" in before and "tool_calls" in delta:
        return _calls(before)[-1]["index"] != _calls(delta)[0]["index"]
    return min(map(_ORDER.index, delta)) > max(map(_ORDER.index, before))


def _calls(delta: Json) -> list[Json]:
    fragments = delta.get("tool_calls", [])
    assert isinstance(fragments, list)
    return fragments
