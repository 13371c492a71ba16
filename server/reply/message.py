"""ReplyMessage: the fold of an answer's events, from which a whole body is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from server.calls.tool import ToolKind
from server.reply.events import (
    CallArgumentsEvent,
    CallEndEvent,
    CallStartEvent,
    ReasoningEvent,
    ReplyEvent,
    TextEvent,
)


@dataclass(slots=True)
class Call:
    """One tool call; `is_complete` is False where the answer was cut off inside it."""

    name: str
    kind: ToolKind = ToolKind.FUNCTION
    argument_pieces: list[str] = field(default_factory=list)
    is_complete: bool = False

    @property
    def arguments(self) -> str:
        """The arguments as JSON; of a custom tool, the text of its input."""
        return "".join(self.argument_pieces)


@dataclass(slots=True)
class ReplyMessage:
    """What an answer has come to so far."""

    text_pieces: list[str] = field(default_factory=list)
    reasoning_pieces: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def content(self) -> str | None:
        """The text; None where there are calls and no text."""
        return "".join(self.text_pieces) or (None if self.calls else "")

    @property
    def reasoning(self) -> str | None:
        """The thoughts before the answer, None if there were none."""
        return "".join(self.reasoning_pieces) or None

    def add(self, event: ReplyEvent) -> None:
        """Fold one more event into the message."""
        match event:
            case TextEvent(text):
                self.text_pieces.append(text)
            case ReasoningEvent(text):
                self.reasoning_pieces.append(text)
            case CallStartEvent(name, kind):
                self.calls.append(Call(name, kind))
            case CallArgumentsEvent(text):
                self.calls[-1].argument_pieces.append(text)
            case CallEndEvent():
                self.calls[-1].is_complete = True
            case _:
                assert_never(event)
