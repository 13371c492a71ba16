"""Content blocks: reply events as blocks, one after the other; streams and whole answers alike."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

import msgspec
import pydantic_core

from server.reply.events import (
    CallArgumentsEvent,
    CallEndEvent,
    CallStartEvent,
    ReasoningEvent,
    ReplyEvent,
    TextEvent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.answer.bodies import Json

UNSIGNED: Final = "unsigned"
"""The signature of thoughts: clients send back only what has one, and nobody checks ours."""


class BlockKind(Enum):
    """What a block is."""

    TEXT = "text"
    THINKING = "thinking"
    TOOL_USE = "tool_use"


@dataclass(frozen=True, slots=True)
class BlockStart:
    """A block begins; blocks never overlap. `call_id` and `name` are those of a tool use."""

    kind: BlockKind
    call_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class BlockText:
    """More of the running block's text, thoughts or input (as JSON)."""

    kind: BlockKind
    text: str


@dataclass(frozen=True, slots=True)
class BlockStop:
    """The running block is over; `is_whole` is False for a call that was cut off."""

    kind: BlockKind
    is_whole: bool = True


BlockEvent: TypeAlias = BlockStart | BlockText | BlockStop


class BlockReader:
    """Finds the blocks of one answer.

    Args:
        call_ids: an id for each call.
    """

    def __init__(self, call_ids: Iterator[str]) -> None:
        self._call_ids = call_ids
        self._open: BlockKind | None = None

    def feed(self, event: ReplyEvent) -> Iterator[BlockEvent]:
        """What one more event brings."""
        match event:
            case TextEvent(text):
                yield from self._more(BlockKind.TEXT, text)
            case ReasoningEvent(text):
                yield from self._more(BlockKind.THINKING, text)
            case CallStartEvent(name):
                yield from self.finish()
                self._open = BlockKind.TOOL_USE
                yield BlockStart(BlockKind.TOOL_USE, next(self._call_ids), name)
            case CallArgumentsEvent(text):
                yield BlockText(BlockKind.TOOL_USE, text)
            case CallEndEvent():
                self._open = None
                yield BlockStop(BlockKind.TOOL_USE)
            case _:
                assert_never(event)

    def finish(self) -> Iterator[BlockEvent]:
        """The end of a block that is still open."""
        if self._open is not None:
            yield BlockStop(self._open, is_whole=self._open is not BlockKind.TOOL_USE)
        self._open = None

    def _more(self, kind: BlockKind, text: str) -> Iterator[BlockEvent]:
        if self._open is not kind:
            yield from self.finish()
            self._open = kind
            yield BlockStart(kind)
        yield BlockText(kind, text)


@dataclass(slots=True)
class ContentFold:
    """The `content` of a whole answer, from its block events."""

    content: list[Json] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)

    def add(self, event: BlockEvent) -> None:
        """Fold one more event."""
        match event:
            case BlockStart():
                self.content.append(start_body(event))
                self._pieces = []
            case BlockText(_, text):
                self._pieces.append(text)
            case BlockStop(kind, is_whole):
                self.content[-1] |= _filled(kind, "".join(self._pieces), is_whole=is_whole)
            case _:
                assert_never(event)


def start_body(start: BlockStart) -> Json:
    """A block in which nothing is written yet."""
    match start.kind:
        case BlockKind.TEXT:
            return {"type": "text", "text": ""}
        case BlockKind.THINKING:
            return {"type": "thinking", "thinking": "", "signature": ""}
        case BlockKind.TOOL_USE:
            return {"type": "tool_use", "id": start.call_id, "name": start.name, "input": {}}
        case _:
            assert_never(start.kind)


def _filled(kind: BlockKind, text: str, *, is_whole: bool) -> Json:
    match kind:
        case BlockKind.TEXT:
            return {"text": text}
        case BlockKind.THINKING:
            return {"thinking": text, "signature": UNSIGNED}
        case BlockKind.TOOL_USE:
            # As it was written: parsed numbers could be changed, or not be written again.
            return {"input": msgspec.Raw((text if is_whole else _closed(text)).encode())}
        case _:
            assert_never(kind)


def _closed(text: str) -> str:
    """What is certain of a cut object, as the accumulator of Anthropic's client reads it."""
    try:
        return json.dumps(pydantic_core.from_json(text, allow_partial=True), allow_nan=False)
    except ValueError:
        return "{}"
