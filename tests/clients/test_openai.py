"""OpenAI's own client; `tests/server` has it too, against a server inside the test."""

from __future__ import annotations

import json
from typing import Any, Literal

import openai
import pytest
from openai import OpenAI
from pydantic import BaseModel, Field

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("openai")
USER: Any = [{"role": "user", "content": "Alice and Bob meet on Friday."}]


class CalendarEvent(BaseModel):
    name: str = Field(max_length=20)
    day: Literal["monday", "friday"]
    participants: list[Literal["Alice", "Bob"]] = Field(max_length=2)


class GetWeather(BaseModel):
    city: Literal["Paris", "Lima"]


@pytest.fixture
def client(tiny):
    with OpenAI(base_url=f"{tiny}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_chat_parse(client):
    answer = client.chat.completions.parse(
        model=MODEL, messages=USER, response_format=CalendarEvent
    )
    assert isinstance(answer.choices[0].message.parsed, CalendarEvent)


def test_the_chat_stream_helper(client):
    with client.chat.completions.stream(
        model=MODEL, messages=USER, response_format=CalendarEvent
    ) as stream:
        kinds = {event.type for event in stream}
        answer = stream.get_final_completion()
    assert {"content.delta", "content.done"} <= kinds
    assert isinstance(answer.choices[0].message.parsed, CalendarEvent)


def test_parsed_calls_and_their_results_sent_back(client):
    tools = [openai.pydantic_function_tool(GetWeather)]
    messages = [*USER]
    answer = client.chat.completions.parse(
        model=MODEL, messages=messages, tools=tools, tool_choice="required"
    )
    message = answer.choices[0].message
    messages.append(message)
    for call in message.tool_calls:
        assert isinstance(call.function.parsed_arguments, GetWeather)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "18 degrees"})
    final = client.chat.completions.create(model=MODEL, messages=messages, max_tokens=20)
    assert final.choices[0].message.content


def test_responses_parse(client):
    answer = client.responses.parse(model=MODEL, input=USER, text_format=CalendarEvent)
    assert isinstance(answer.output_parsed, CalendarEvent)


def test_responses_with_tools_and_a_previous_response(client):
    tools = [openai.pydantic_function_tool(GetWeather)["function"] | {"type": "function"}]
    first = client.responses.create(
        model=MODEL, input=USER, tools=tools, tool_choice="required", parallel_tool_calls=False
    )
    (call,) = first.output
    assert json.loads(call.arguments)["city"] in ("Paris", "Lima")
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "18 degrees"}
    final = client.responses.create(
        model=MODEL, previous_response_id=first.id, input=[output], max_output_tokens=20
    )
    assert final.output_text
