"""Laws of responses: OpenAI's accumulator takes them all, and any cut tells the same answer."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from openai import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from server.answer.responses.body import ResponseHead
from server.answer.responses.run import streamed_response, whole_response
from server.answer.responses.writer import OutputWriter
from server.calls.tool import ToolKind
from server.generation import Usage
from server.reply.choice import ReplyStep
from server.reply.events import (
    CallArgumentsEvent,
    CallEndEvent,
    CallStartEvent,
    ReasoningEvent,
    ReplyEvent,
    TextEvent,
    merge_events,
)
from server.wire.responses.request import ResponsesRequest
from tests.support.byte_vocabulary import byte_vocabulary

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

EVENT: Any = TypeAdapter(ResponseStreamEvent)


@dataclass
class FakeGeneration:
    """Gives its steps, as `Generation` does."""

    given: list[ReplyStep]
    usage: Usage = field(default_factory=lambda: Usage(3, num_completion_tokens=5))

    async def steps(self) -> AsyncGenerator[tuple[int, ReplyStep], None]:
        for step in self.given:
            yield 0, step


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[ReplyEvent], bool]:
    """The events of an answer, a character each; and whether the limit has cut it."""
    is_cut = draw(st.booleans())
    texts = st.text(min_size=1, max_size=5)
    events: list[ReplyEvent] = []
    blocks = draw(st.lists(st.sampled_from(["text", "thoughts", "call"]), max_size=4))
    for number, block in enumerate(blocks):
        text = draw(texts)
        if block == "text":
            events += [TextEvent(character) for character in text]
        elif block == "thoughts":
            events += [ReasoningEvent(character) for character in text]
        else:
            events.append(CallStartEvent(draw(texts), draw(st.sampled_from(ToolKind))))
            events += [CallArgumentsEvent(character) for character in text]
            if not (is_cut and number == len(blocks) - 1):
                events.append(CallEndEvent())
    return events, is_cut


def steps_of(draw: Any, events: list[ReplyEvent], *, is_cut: bool) -> list[ReplyStep]:
    """The events in steps of any sizes, with a finish at the end."""
    cuts = sorted(draw(st.sets(st.integers(0, len(events)), max_size=6)) | {0, len(events)})
    steps = [
        ReplyStep(tuple(merge_events(events[start:end]))) for start, end in itertools.pairwise(cuts)
    ]
    return [*steps, ReplyStep((), finish="length" if is_cut else "stop")]


async def told(steps: list[ReplyStep]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The events of the stream, and the bodies that were kept."""
    kept: list[Any] = []
    head, writer = new_answer()
    generation: Any = FakeGeneration(steps)
    blocks = [block async for block in streamed_response(generation, head, writer, kept.append)]
    return [json.loads(block.decode().partition("\ndata: ")[2]) for block in blocks], kept


def new_answer() -> tuple[ResponseHead, OutputWriter]:
    request = ResponsesRequest(model="m", input="hi")
    return ResponseHead.new("m", request), OutputWriter(byte_vocabulary())


def bare(body: dict[str, Any]) -> dict[str, Any]:
    """A body without what differs from answer to answer."""
    random = {"id", "call_id", "created_at", "completed_at"}
    return {
        name: [bare(item) for item in value] if name == "output" else value
        for name, value in body.items()
        if name not in random
    }


@settings(deadline=None, max_examples=60)
@given(answer=answers(), data=st.data())
async def test_openais_accumulator_takes_every_stream(answer, data):
    events, is_cut = answer
    stream, kept = await told(steps_of(data.draw, events, is_cut=is_cut))
    state: Any = ResponseStreamState(input_tools=[], text_format=omit)
    for number, event in enumerate(stream):
        assert event["sequence_number"] == number
        state.handle_event(EVENT.validate_python(event))
    final = stream[-1]["response"]
    Response.model_validate_json(json.dumps(final), strict=True)
    assert kept == [final]
    assert final["status"] == ("incomplete" if is_cut else "completed")
    assert [item["status"] for item in final["output"][:-1]] == ["completed"] * (
        len(final["output"]) - 1
    )
    done = [e["item"] for e in stream if e["type"] == "response.output_item.done"]
    assert done == final["output"]


@settings(deadline=None, max_examples=60)
@given(answer=answers(), data=st.data())
async def test_any_cut_into_steps_gives_the_same_response(answer, data):
    events, is_cut = answer
    steps = steps_of(data.draw, events, is_cut=is_cut)
    one = [ReplyStep(tuple(merge_events(events)), finish="length" if is_cut else "stop")]
    stream, _ = await told(steps)
    generation: Any = FakeGeneration(one)
    whole: Any = await whole_response(generation, *new_answer())
    assert bare(stream[-1]["response"]) == bare(whole)
