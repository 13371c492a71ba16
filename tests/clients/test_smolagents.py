"""Agents of smolagents over its OpenAI model."""

from __future__ import annotations

import json
from typing import Any

from smolagents import OpenAIModel, ToolCallingAgent, tool

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("smolagents")


@tool
def get_weather(city: str) -> str:
    """Get the weather in a city.

    Args:
        city: the city
    """
    return f"18 degrees in {city}"


def model(url: str, **settings: Any) -> OpenAIModel:
    return OpenAIModel(model_id=MODEL, api_base=f"{url}/v1", api_key="none", **settings)


def test_an_agent_calls_its_tools_until_it_answers(tiny):
    agent = ToolCallingAgent(tools=[get_weather], model=model(tiny), max_steps=8)
    agent.run("What is the weather in Lima?")
    steps = [step for step in agent.memory.steps if getattr(step, "tool_calls", None)]
    assert steps
    for step in steps:
        assert {call.name for call in step.tool_calls} <= {"get_weather", "final_answer"}
        assert all(isinstance(call.arguments, dict) for call in step.tool_calls)


def test_a_response_format(tiny):
    schema = {
        "type": "object",
        "properties": {"thoughts": {"type": "string", "maxLength": 20}, "code": {"enum": ["x"]}},
        "required": ["thoughts", "code"],
        "additionalProperties": False,
    }
    answer = model(tiny).generate(
        [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "ThoughtAndCode", "schema": schema, "strict": True},
        },
    )
    assert json.loads(answer.content)["code"] == "x"
