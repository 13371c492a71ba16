"""Anthropic's own client; `tests/server` has it too, against a server inside the test."""

from __future__ import annotations

from typing import Any, Literal

import anthropic
import pytest
from anthropic import beta_tool
from pydantic import BaseModel

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("anthropic")
DOCUMENT: Any = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "The grass is green."},
    "title": "Colours",
}
USER: Any = [
    {"role": "user", "content": [DOCUMENT, {"type": "text", "text": "What colour is grass?"}]}
]


class Answer(BaseModel):
    colour: Literal["green", "blue"]
    sure: bool


@beta_tool
def get_weather(city: Literal["Paris", "Lima"]) -> str:
    """The weather in a city now."""
    return f"18 degrees in {city}"


@pytest.fixture
def client(tiny):
    with anthropic.Anthropic(base_url=tiny, api_key="none", max_retries=0) as client:
        yield client


def test_a_document_and_a_parsed_answer(client):
    message = client.messages.parse(
        model=MODEL, max_tokens=2000, messages=USER, output_format=Answer
    )
    assert isinstance(message.parsed_output, Answer)


def test_the_stream_helper(client):
    with client.messages.stream(
        model=MODEL,
        max_tokens=2000,
        messages=USER,
        tools=[get_weather.to_dict()],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
    ) as stream:
        message = stream.get_final_message()
    assert message.stop_reason == "tool_use"
    assert message.content[-1].input["city"] in ("Paris", "Lima")


def test_the_tool_runner_sends_results_back(client):
    runner = client.beta.messages.tool_runner(
        model=MODEL,
        max_tokens=2000,
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[get_weather],
        tool_choice={"type": "any"},
        max_iterations=2,
    )
    first, second = runner
    assert {block.type for block in first.content} == {"tool_use"}
    assert second.usage.input_tokens + second.usage.cache_read_input_tokens > 0


def test_tokens_are_counted(client):
    counted = client.messages.count_tokens(model=MODEL, messages=USER)
    assert counted.input_tokens > len("The grass is green.")
