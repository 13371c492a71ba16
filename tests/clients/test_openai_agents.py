"""OpenAI's Agents SDK over responses and chat completions."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
)
from openai import AsyncOpenAI
from pydantic import BaseModel, Field

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("openai-agents")
APIS: Any = {"responses": OpenAIResponsesModel, "chat": OpenAIChatCompletionsModel}


class CalendarEvent(BaseModel):
    name: str = Field(max_length=20)
    day: Literal["monday", "friday"]
    participants: list[Literal["Alice", "Bob"]] = Field(max_length=2)


@function_tool
def get_weather(city: Literal["Paris", "Lima"]) -> str:
    """Get the weather in a city."""
    return f"18 degrees in {city}"


def model(url: str, api: str) -> Any:
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    return APIS[api](model=MODEL, openai_client=client)


@pytest.mark.parametrize("api", APIS)
def test_output_type(tiny, api):
    agent = Agent(name="Extractor", model=model(tiny, api), output_type=CalendarEvent)
    result = Runner.run_sync(agent, "Alice and Bob meet on Friday.")
    assert isinstance(result.final_output, CalendarEvent)


@pytest.mark.parametrize("api", APIS)
def test_a_tool_is_called_and_its_result_sent_back(tiny, api):
    agent = Agent(
        name="Weather",
        instructions="Answer shortly.",
        model=model(tiny, api),
        tools=[get_weather],
        model_settings=ModelSettings(
            tool_choice="required", parallel_tool_calls=False, max_tokens=2000
        ),
    )
    result = Runner.run_sync(agent, "What is the weather in Paris?")
    kinds = [item.type for item in result.new_items]
    assert kinds == ["tool_call_item", "tool_call_output_item", "message_output_item"]
    assert result.final_output


@pytest.mark.parametrize("api", APIS)
def test_streamed_events(tiny, api):
    agent = Agent(name="Extractor", model=model(tiny, api), output_type=CalendarEvent)

    async def run() -> tuple[list[str], Any]:
        result = Runner.run_streamed(agent, "Alice and Bob meet on Friday.")
        kinds = [
            event.data.type
            async for event in result.stream_events()
            if event.type == "raw_response_event"
        ]
        return kinds, result.final_output

    kinds, output = asyncio.run(run())
    assert kinds.count("response.output_text.delta") > 1
    assert kinds[-1] == "response.completed"
    assert isinstance(output, CalendarEvent)


@pytest.mark.parametrize("api", APIS)
def test_a_handoff(tiny, api):
    """The last agent has an output type: the free text of a random model has no end."""
    spanish = Agent(name="Spanish agent", model=model(tiny, api), output_type=CalendarEvent)
    triage = Agent(
        name="Triage agent",
        instructions="Hand off by language.",
        model=model(tiny, api),
        handoffs=[spanish],
        model_settings=ModelSettings(tool_choice="required", parallel_tool_calls=False),
    )
    result = Runner.run_sync(triage, "Hola, ¿cómo estás?")
    assert result.last_agent is spanish
    assert isinstance(result.final_output, CalendarEvent)
