"""Anthropic's client against a server with a tiny random model; recorded requests; the law."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import anthropic
import httpx
import msgspec
import pytest
from anthropic import beta_tool
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, MessageTokensCount, RawMessageStreamEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import validate
from pydantic import BaseModel, TypeAdapter

from server.answer.anthropic.bodies import MessageHead
from server.answer.anthropic.stream import streamed_message
from server.answer.anthropic.whole import whole_message
from server.config import ServerConfig
from server.generation import Usage
from server.reply.choice import ReplyStep
from server.reply.events import (
    CallArgumentsEvent,
    CallEndEvent,
    CallStartEvent,
    ReasoningEvent,
    ReplyEvent,
    TextEvent,
)
from tests.support.chat_server import make_services, running
from tests.support.shared_data import SHARED_DATA, recorded_requests
from tests.support.tiny_server import tiny_server

PATH = "/v1/messages"
USER: Any = [{"role": "user", "content": "hi"}]
EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
FILES = sorted(
    path.name
    for path in (SHARED_DATA / "wire").glob("*.jsonl")
    if f'"path": "{PATH}' in path.read_text()
)


class Weather(BaseModel):
    city: Literal["Paris", "Lima"]
    is_cold: bool


@beta_tool
def get_weather(city: Literal["Paris", "Lima"]) -> str:
    """The weather in a city now."""
    return f"18 degrees in {city}"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    with (
        tiny_server(folder, ServerConfig(accept_any_model=True)) as url,
        anthropic.Anthropic(base_url=url, api_key="x", max_retries=0) as client,
    ):
        yield client


SETTINGS: Any = {"model": "claude-x", "max_tokens": 200, "messages": USER}


def test_create_answers_and_count_tokens_agrees_with_it(client):
    message = client.messages.create(**SETTINGS | {"max_tokens": 5})
    assert isinstance(message, Message)
    assert message.usage.output_tokens <= 5
    counted = client.messages.count_tokens(model="claude-x", messages=USER)
    cached = message.usage.cache_read_input_tokens or 0
    assert counted.input_tokens == message.usage.input_tokens + cached
    assert [model.id for model in client.models.list()]


def test_parse_gives_an_object_of_the_asked_class(client):
    message = client.messages.parse(**SETTINGS, output_format=Weather)
    assert isinstance(message.parsed_output, Weather)


def test_a_stream_of_calls_accumulates_to_their_input(client):
    tools: Any = [get_weather.to_dict()]
    with client.messages.stream(
        **SETTINGS, tools=tools, tool_choice={"type": "tool", "name": "get_weather"}
    ) as stream:
        kinds = [event.type for event in stream]
    (block,) = stream.get_final_message().content
    assert kinds.count("content_block_start") == 1
    assert block.input["city"] in ("Paris", "Lima")


def test_the_tool_runner_goes_on_without_a_thread(client):
    """It begins with `thread`, is told that there are none, and sends the whole history."""
    runner = client.beta.messages.tool_runner(
        **SETTINGS,
        tools=[get_weather],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        max_iterations=3,
    )
    messages = list(runner)
    assert [message.stop_reason for message in messages] == ["tool_use"] * 3
    assert [message.content[0].name for message in messages] == ["get_weather"] * 3


@pytest.fixture(scope="module")
def url():
    config = ServerConfig(accept_any_model=True)
    with running(make_services(None, config=config, max_model_len=60_000)) as url:
        yield url


@pytest.mark.parametrize("name", FILES or ["anth.jsonl"])
def test_every_recorded_request_is_answered(name, url):
    for record in recorded_requests(name):
        path, body = record["path"], record["body"]
        if record["method"] != "POST" or not path.startswith(PATH):
            continue
        if body.get("thread"):
            refused = httpx.post(f"{url}{path}", json=body, timeout=60)
            assert refused.json()["error"]["details"]["unsupported"] == ["thread"]
            if body.pop("thread")["type"] == "continue":
                continue  # the messages before are in the thread alone
        if path.endswith("/count_tokens"):
            MessageTokensCount.model_validate(
                httpx.post(f"{url}{path}", json=body, timeout=60).json()
            )
            continue
        # The script follows the masks, and needs more tokens of bytes than models do of theirs.
        check_answer(answer_of(url, body | {"max_tokens": 2000}), body)


def answer_of(url: str, body: dict[str, Any]) -> Any:
    response = httpx.post(f"{url}{PATH}", json=body, timeout=60)
    assert response.status_code == 200, response.text
    return accumulated(response.text) if body.get("stream") else Message(**response.json())


def accumulated(text: str) -> Any:
    """What the client's accumulator makes of a stream."""
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for block in text.removesuffix("\n\n").split("\n\n"):
        event = EVENT.validate_json(block.split("\n")[1].removeprefix("data: "))
        snapshot = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=buffers)
    return snapshot


def check_answer(message: Any, body: dict[str, Any]) -> None:
    assert message.stop_reason in ("end_turn", "tool_use")
    schemas = {tool["name"]: tool["input_schema"] for tool in body.get("tools", [])}
    calls = [block for block in message.content if block.type == "tool_use"]
    for call in calls:
        validate(call.input, schemas[call.name])
    if body.get("tool_choice", {}).get("type") in ("any", "tool"):
        assert len(calls) == len(message.content) > 0
    elif "output_config" in body:
        (block,) = message.content
        validate(json.loads(block.text), body["output_config"]["format"]["schema"])


class Script:
    """A generation whose steps are given."""

    def __init__(self, steps: list[ReplyStep]) -> None:
        self._steps = steps
        self.usage = Usage(7, num_cached_tokens=3)

    async def steps(self):
        for step in self._steps:
            yield 0, step


words = st.text(min_size=1, max_size=5)


@st.composite
def calls(draw) -> list[ReplyEvent]:
    """A call whose arguments come in pieces, perhaps cut off."""
    arguments = json.dumps(draw(st.dictionaries(words, st.integers() | words, max_size=3)))
    cut = draw(st.integers(1, len(arguments)))
    pieces = [piece for piece in (arguments[:cut], arguments[cut:]) if piece]
    return [CallStartEvent("f"), *map(CallArgumentsEvent, pieces), CallEndEvent()]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_events_stream_to_the_message_that_is_not_streamed(data):
    texts = st.builds(TextEvent, words).map(lambda event: [event])
    thoughts = st.lists(st.builds(ReasoningEvent, words), max_size=2)
    parts = [data.draw(thoughts), *data.draw(st.lists(texts | calls(), max_size=4))]
    events = [event for part in parts for event in part]
    finish = data.draw(st.sampled_from(["stop", "tool_calls", "length"]))
    if finish == "length" and events and isinstance(events[-1], CallEndEvent):
        events = events[: data.draw(st.integers(len(events) - 2, len(events)))]
    cut = data.draw(st.integers(0, len(events)))
    steps = [
        ReplyStep(tuple(events[:cut]), num_tokens=1),
        ReplyStep(tuple(events[cut:]), finish=finish),
    ]
    whole, stream = asyncio.run(both(steps))
    assert facts(accumulated(stream)) == facts(Message(**whole))


async def both(steps: list[ReplyStep]) -> tuple[dict[str, Any], str]:
    generation: Any = Script(steps)
    head = MessageHead.new("m")
    whole = await whole_message(generation, head, max_tokens=9)
    stream = streamed_message(generation, head, "req_1", max_tokens=9)
    told = b"".join([event async for event in stream])
    return json.loads(msgspec.json.encode(whole)), told.decode()


def facts(message: Message) -> Any:
    """A message without the ids of its calls, which are new each time."""
    content = [block.model_dump(exclude={"id"}) for block in message.content]
    return content, message.stop_reason, message.usage
