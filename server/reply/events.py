"""ReplyEvent: what happens in one answer; streams and whole answers fold the same events."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from server.calls.tool import ToolKind

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class TextEvent:
    """More of the answer's text; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEvent:
    """More of the thoughts before the answer; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStartEvent:
    """A tool call begins; calls never overlap, and number k is the k-th start."""

    name: str
    kind: ToolKind = ToolKind.FUNCTION


@dataclass(frozen=True, slots=True)
class CallArgumentsEvent:
    """More of the running call's arguments, never empty.

    Of a function they are JSON, as the model wrote it where it writes JSON; of a custom tool they
    are the text of its input.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CallEndEvent:
    """The running call's arguments are whole; without this the call was cut off."""


ReplyEvent: TypeAlias = (
    TextEvent | ReasoningEvent | CallStartEvent | CallArgumentsEvent | CallEndEvent
)


_PIECES = (TextEvent, ReasoningEvent, CallArgumentsEvent)


def merge_events(events: Iterable[ReplyEvent]) -> list[ReplyEvent]:
    """The same events, neighbouring pieces of one text as one: so one step is one chunk."""
    merged: list[ReplyEvent] = []
    for kind, group in groupby(events, type):
        if issubclass(kind, _PIECES):
            merged.append(
                kind("".join(event.text for event in group if isinstance(event, _PIECES)))
            )
        else:
            merged += group
    return merged
