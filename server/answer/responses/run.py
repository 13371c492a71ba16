"""A generation as a response: streamed, or run to its end and returned in one body."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from server.answer.failures import told_failure
from server.answer.length_note import length_note

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from server.answer.bodies import Json
    from server.answer.responses.body import ResponseHead
    from server.answer.responses.writer import OutputWriter
    from server.generation import Generation


async def response_events(
    generation: Generation, head: ResponseHead, writer: OutputWriter
) -> AsyncGenerator[Json, None]:
    """All events of a response, `response.created` first; the last holds the whole of it.

    Raises:
        ServerError: the generation failed.
    """
    yield {"type": "response.created", "response": head.running()}
    yield {"type": "response.in_progress", "response": head.running()}
    note: Json = {}
    async with aclosing(generation.steps()) as steps:
        async for _, step in steps:
            note = length_note({0: step})
            for event in writer.step(step):
                yield event
    body = head.ended(writer.output, generation.usage, is_cut=writer.is_cut)
    yield {"type": f"response.{body['status']}", "response": body | note}


async def whole_response(generation: Generation, head: ResponseHead, writer: OutputWriter) -> Json:
    """The body that the last event holds.

    Raises:
        ServerError: the generation failed.
    """
    body: Json = {}
    async with aclosing(response_events(generation, head, writer)) as events:
        async for event in events:
            last = event.get("response")
            if isinstance(last, dict):
                body = last
    return body


async def streamed_response(
    generation: Generation,
    head: ResponseHead,
    writer: OutputWriter,
    keep: Callable[[Json], None],
) -> AsyncGenerator[bytes, None]:
    """Run a generation and encode its events as they come, numbered from 0.

    A failure becomes the event `response.failed`.

    Args:
        generation: what runs.
        head: of the bodies.
        writer: of the items.
        keep: called with the body before it is sent.
    """
    number = 0
    try:
        async with aclosing(response_events(generation, head, writer)) as events:
            async for event in events:
                if event["type"] in ("response.completed", "response.incomplete"):
                    body = event["response"]
                    assert isinstance(body, dict)
                    keep(body)
                yield _sse(event, number)
                number += 1
    except Exception as error:  # noqa: BLE001  # whatever it is, the stream must tell
        message = told_failure(error, head.response_id).message
        body = head.failed(writer.output, message)
        yield _sse({"type": "response.failed", "response": body}, number)


def _sse(event: Json, number: int) -> bytes:
    """One server-sent event, its type in both places where clients look for it."""
    data = msgspec.json.encode(event | {"sequence_number": number})
    return f"event: {event['type']}\ndata: ".encode() + data + b"\n\n"
