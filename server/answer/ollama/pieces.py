"""Pieces: what the steps of an answer add to it, in which calls are whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import msgspec

from server.answer.ids import new_call_id
from server.reply.events import (
    CallArgumentsEvent,
    CallEndEvent,
    CallStartEvent,
    ReasoningEvent,
    TextEvent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from server.answer.bodies import Json
    from server.reply.events import ReplyEvent


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer, or all of it."""

    text: str = ""
    thoughts: str = ""
    calls: tuple[Json, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text or self.thoughts or self.calls)


def joined(pieces: Iterable[Piece]) -> Piece:
    """The answer that the pieces come to."""
    parts = list(pieces)
    return Piece(
        "".join(part.text for part in parts),
        "".join(part.thoughts for part in parts),
        tuple(call for part in parts for call in part.calls),
    )


class PieceReader:
    """Makes pieces of one answer's events; a call is sent once it is whole, a cut one never."""

    def __init__(self) -> None:
        self._name = ""
        self._arguments: list[str] = []
        self._num_calls = 0

    def read(self, events: Iterable[ReplyEvent]) -> Piece:
        """What these events add."""
        text, thoughts, calls = "", "", []
        for event in events:
            match event:
                case TextEvent(more):
                    text += more
                case ReasoningEvent(more):
                    thoughts += more
                case CallStartEvent(name):
                    self._name, self._arguments = name, []
                case CallArgumentsEvent(more):
                    self._arguments.append(more)
                case CallEndEvent():
                    calls.append(self._call())
                case _:
                    assert_never(event)
        return Piece(text, thoughts, tuple(calls))

    def _call(self) -> Json:
        """The call that has ended; its arguments are an object, spelled as the model wrote it."""
        index, self._num_calls = self._num_calls, self._num_calls + 1
        arguments = msgspec.Raw("".join(self._arguments).encode())
        function = {"index": index, "name": self._name, "arguments": arguments}
        return {"id": new_call_id(), "function": function}
