"""Conversation: items of the Responses API to the messages of a chat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from server.wire.messages import (
    AssistantMessage,
    CalledFunction,
    CustomCall,
    SystemMessage,
    ToolCallMessage,
    ToolMessage,
    UserMessage,
)
from server.wire.responses.items import (
    CustomCallItem,
    CustomOutputItem,
    FunctionCallItem,
    FunctionOutputItem,
    MessageItem,
    ReasoningItem,
    item_text,
)
from server.wire.translation import PlacedMessages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from server.wire.responses.items import GivenItem

_CUT = "incomplete"


@dataclass(slots=True)
class _Turn:
    """What the assistant says until somebody else speaks: thoughts, a text, calls."""

    place: str
    thoughts: list[str] = field(default_factory=list)
    text: str | None = None
    calls: list[ToolCallMessage] = field(default_factory=list)

    def message(self) -> AssistantMessage:
        return AssistantMessage(
            role="assistant",
            content=self.text,
            reasoning_content="".join(self.thoughts) or None,
            tool_calls=self.calls or None,
        )


class ConversationWriter:
    """Appends items to a conversation.

    Neighbouring items of the assistant become one message, as templates need it: thoughts, then
    text, then calls. A second text begins a new message. A call that was cut off can never be
    answered, so it is left out.
    """

    def __init__(self) -> None:
        self._conversation = PlacedMessages()
        self._turn: _Turn | None = None

    def add_items(self, items: Iterable[tuple[str, GivenItem]]) -> None:
        """Append items, each with its place in the request."""
        for place, item in items:
            self._add_item(place, item)

    def finish(self) -> PlacedMessages:
        """The conversation; nothing may be added any more."""
        self._end_turn()
        return self._conversation

    def _add_item(self, place: str, item: GivenItem) -> None:
        match item:
            case MessageItem():
                self._add_message(place, item)
            case ReasoningItem():
                self._assistant(place).thoughts += [
                    part.text for part in item.content or item.summary or []
                ]
            case FunctionCallItem() | CustomCallItem():
                if item.status != _CUT:
                    self._assistant(place).calls.append(_call(item))
            case FunctionOutputItem() | CustomOutputItem():
                self._end_turn()
                result = ToolMessage(
                    role="tool", content=item_text(item.output), tool_call_id=item.call_id
                )
                self._conversation.add(result, place)
            case _:
                assert_never(item)

    def _add_message(self, place: str, item: MessageItem) -> None:
        text = item_text(item.content)
        match item.role:
            case "assistant":
                if self._turn is not None and self._turn.text is not None:
                    self._end_turn()
                self._assistant(place).text = text
            case "user":
                self._end_turn()
                self._conversation.add(UserMessage(role="user", content=text), place)
            case "system" | "developer":
                self._end_turn()
                self._conversation.add(SystemMessage(role=item.role, content=text), place)
            case _:
                assert_never(item.role)

    def _assistant(self, place: str) -> _Turn:
        if self._turn is None:
            self._turn = _Turn(place)
        return self._turn

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            self._conversation.add(turn.message(), turn.place)


def _call(item: FunctionCallItem | CustomCallItem) -> ToolCallMessage:
    if isinstance(item, FunctionCallItem):
        function = CalledFunction(name=item.name, arguments=item.arguments)
        return ToolCallMessage(id=item.call_id, type="function", function=function)
    custom = CustomCall(name=item.name, input=item.input)
    return ToolCallMessage(id=item.call_id, type="custom", custom=custom)
