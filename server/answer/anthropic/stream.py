"""streamed_message: a generation encoded as the events of a message while it runs."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from server.answer.anthropic.blocks import (
    UNSIGNED,
    BlockEvent,
    BlockKind,
    BlockReader,
    BlockStart,
    BlockStop,
    BlockText,
    start_body,
)
from server.answer.anthropic.bodies import (
    message_body,
    new_call_ids,
    running_body,
    stop_body,
    usage_body,
)
from server.answer.failures import told_failure
from server.error_shapes import ErrorShape, shaped_error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from server.answer.anthropic.bodies import MessageHead
    from server.answer.bodies import Json
    from server.generation import Generation

PING: Final = b'event: ping\ndata: {"type":"ping"}\n\n'
"""What is sent in silence."""


async def streamed_message(
    generation: Generation, head: MessageHead, request_id: str, *, max_tokens: int
) -> AsyncGenerator[bytes, None]:
    """Run a generation and encode it as the events of a message.

    The first event counts the whole prompt as input; what the prefix cache had of it is told by
    `message_delta`, whose usage counts. A failure becomes an error event, behind which the stream
    ends.

    Args:
        generation: of one choice.
        head: of the answer.
        request_id: goes into an error.
        max_tokens: as the request has it.
    """
    encoder = _BlockEncoder()
    reader = BlockReader(new_call_ids())
    message = message_body(head, [], running_body(), generation.usage)
    yield _event("message_start", {"message": message})
    stop = running_body()
    try:
        async with aclosing(generation.steps()) as steps:
            async for _, step in steps:
                for event in step.events:
                    for block_event in reader.feed(event):
                        for data in encoder.encode(block_event):
                            yield data
                if step.finish is not None:
                    stop = stop_body(step, generation.usage, max_tokens)
    except Exception as error:  # noqa: BLE001  # whatever it is, the stream must tell
        failure = told_failure(error, head.message_id)
        told = shaped_error(failure, ErrorShape.ANTHROPIC, request_id)
        yield b"event: error\ndata: " + msgspec.json.encode(told) + b"\n\n"
        return
    for block_event in reader.finish():
        for data in encoder.encode(block_event):
            yield data
    yield _event("message_delta", {"delta": stop, "usage": usage_body(generation.usage)})
    yield _event("message_stop", {})


class _BlockEncoder:
    """Encodes block events; blocks are numbered."""

    def __init__(self) -> None:
        self._index = -1

    def encode(self, event: BlockEvent) -> Iterator[bytes]:
        """The server-sent events of one block event."""
        match event:
            case BlockStart():
                self._index += 1
                yield self._block("content_block_start", {"content_block": start_body(event)})
            case BlockText(kind, text):
                yield self._delta(_text_delta(kind, text))
            case BlockStop(kind):
                if kind is BlockKind.THINKING:
                    yield self._delta({"type": "signature_delta", "signature": UNSIGNED})
                yield self._block("content_block_stop", {})
            case _:
                assert_never(event)

    def _delta(self, delta: Json) -> bytes:
        return self._block("content_block_delta", {"delta": delta})

    def _block(self, kind: str, fields: Json) -> bytes:
        return _event(kind, {"index": self._index} | fields)


def _text_delta(kind: BlockKind, text: str) -> Json:
    match kind:
        case BlockKind.TEXT:
            return {"type": "text_delta", "text": text}
        case BlockKind.THINKING:
            return {"type": "thinking_delta", "thinking": text}
        case BlockKind.TOOL_USE:
            return {"type": "input_json_delta", "partial_json": text}
        case _:
            assert_never(kind)


def _event(kind: str, fields: Json) -> bytes:
    """One server-sent event; its name is its type, as these clients expect it."""
    data = msgspec.json.encode({"type": kind} | fields)
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"
