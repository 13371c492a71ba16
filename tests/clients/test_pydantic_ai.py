"""Pydantic AI's agents over chat completions, responses and Anthropic's messages."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput, capture_run_messages
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("pydantic-ai-slim")


class CityLocation(BaseModel):
    city: Literal["London", "Paris", "Lima"]
    country: str = Field(max_length=20)


def chat(url: str) -> OpenAIChatModel:
    provider = OpenAIProvider(base_url=f"{url}/v1", api_key="none")
    return OpenAIChatModel(MODEL, provider=provider)


def responses(url: str) -> OpenAIResponsesModel:
    provider = OpenAIProvider(base_url=f"{url}/v1", api_key="none")
    return OpenAIResponsesModel(MODEL, provider=provider)


def messages(url: str) -> AnthropicModel:
    return AnthropicModel(MODEL, provider=AnthropicProvider(base_url=url, api_key="none"))


MODELS: Any = {"chat": chat, "responses": responses, "messages": messages}


@pytest.mark.parametrize("api", MODELS)
def test_output_as_a_tool(tiny, api):
    agent = Agent(MODELS[api](tiny), output_type=ToolOutput(CityLocation), retries=0)
    result = agent.run_sync("Where were the olympics held in 2012?")
    assert isinstance(result.output, CityLocation)
    assert result.usage.output_tokens > 0


@pytest.mark.parametrize("api", ["chat", "responses"])  # of others the client does not ask for it
def test_native_output(tiny, api):
    agent = Agent(MODELS[api](tiny), output_type=NativeOutput(CityLocation), retries=0)
    result = agent.run_sync("Where were the olympics held in 2012?")
    assert isinstance(result.output, CityLocation)


def test_prompted_output_that_is_not_valid_is_sent_back(tiny):
    """JSON mode binds to objects alone: the client finds no city in noise, and asks again."""
    agent = Agent(chat(tiny), output_type=PromptedOutput(CityLocation), retries=1)
    settings: Any = {"max_tokens": 60, "extra_body": {"on_length": "close"}}
    with capture_run_messages() as exchanged, pytest.raises(UnexpectedModelBehavior):
        agent.run_sync("Where?", model_settings=settings)
    answers = [message for message in exchanged if message.kind == "response"]
    assert len(answers) == 2
    assert all(isinstance(json.loads(answer.text), dict) for answer in answers)


@pytest.mark.parametrize("api", MODELS)
def test_a_tool_is_called_and_its_result_sent_back(tiny, api):
    agent = Agent(MODELS[api](tiny), output_type=CityLocation, retries=0)
    called: list[int] = []

    @agent.tool_plain
    def roll_dice(sides: Literal[6, 20]) -> str:
        """Roll a die."""
        called.append(sides)
        return "4"

    for _ in range(20):  # the model chooses by chance between the tool and the answer
        result = agent.run_sync("Roll, then name a city.")
        assert isinstance(result.output, CityLocation)
        if called:
            break
    assert called


async def streamed(agent: Any) -> list[Any]:
    async with agent.run_stream("Where were the olympics held in 2012?") as result:
        return [output async for output in result.stream_output(debounce_by=None)]


@pytest.mark.parametrize("api", MODELS)
def test_streamed_output(tiny, api):
    agent = Agent(MODELS[api](tiny), output_type=CityLocation, retries=0)
    outputs = asyncio.run(streamed(agent))
    assert isinstance(outputs[-1], CityLocation)
