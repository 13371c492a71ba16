"""LangChain's ChatOpenAI, and its agents."""

from __future__ import annotations

import functools
import operator
from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("langchain-openai")


class Joke(BaseModel):
    """Joke to tell user."""

    setup: str = Field(description="The setup of the joke", max_length=40)
    punchline: str = Field(description="The punchline to the joke", max_length=40)
    rating: int | None = Field(default=None, description="How funny, from 1 to 10", ge=1, le=10)


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


@tool
def get_weather(city: Literal["Paris", "Lima"]) -> str:
    """Get the weather in a city."""
    return f"18 degrees in {city}"


def chat_model(url: str, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model=MODEL, base_url=f"{url}/v1", api_key="none", max_retries=0, **options)


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_output(tiny, method):
    model = chat_model(tiny).with_structured_output(Joke, method=method)
    assert isinstance(model.invoke("Tell me a joke about cats"), Joke)


def test_json_mode(tiny):
    model = chat_model(tiny, max_tokens=200, extra_body={"on_length": "close"})
    answer = model.with_structured_output(None, method="json_mode").invoke("Answer in JSON: hi")
    assert isinstance(answer, dict)


def test_structured_output_over_the_responses_api(tiny):
    model = chat_model(tiny, use_responses_api=True).with_structured_output(Joke)
    assert isinstance(model.invoke("Tell me a joke about cats"), Joke)


def test_a_streamed_structured_output(tiny):
    *_, last = chat_model(tiny).with_structured_output(Joke).stream("Tell me a joke about cats")
    assert isinstance(last, Joke)


def test_tools_are_called_and_their_results_sent_back(tiny):
    tools = [multiply, get_weather]
    caller = chat_model(tiny).bind_tools(tools, tool_choice="any", parallel_tool_calls=False)
    messages: list[Any] = [HumanMessage("What is the weather in Paris?")]
    answer = caller.invoke(messages)
    (call,) = answer.tool_calls
    messages += [answer, {t.name: t for t in tools}[call["name"]].invoke(call)]
    assert isinstance(messages[-1], ToolMessage)
    final = chat_model(tiny, max_tokens=20).bind_tools(tools).invoke(messages)
    assert final.content
    assert final.usage_metadata["input_tokens"] > answer.usage_metadata["input_tokens"]


def test_a_streamed_call_adds_up_to_its_arguments(tiny):
    model = chat_model(tiny, stream_usage=True)
    model = model.bind_tools([multiply, get_weather], tool_choice="get_weather", strict=True)
    whole = functools.reduce(operator.add, model.stream("What is the weather in Paris?"))
    (call,) = whole.tool_calls
    assert call["args"]["city"] in ("Paris", "Lima")
    assert whole.usage_metadata["output_tokens"] > 0


def test_an_agent_with_a_response_format(tiny):
    agent = create_agent(
        chat_model(tiny, max_tokens=2000), [get_weather], response_format=ProviderStrategy(Joke)
    )
    state = agent.invoke({"messages": [("user", "What is the weather in Paris?")]})
    assert isinstance(state["structured_response"], Joke)


def test_an_agent_calls_tools_until_one_is_the_answer(tiny):
    agent = create_agent(
        chat_model(tiny, max_tokens=2000), [get_weather], response_format=ToolStrategy(Joke)
    )
    state = agent.invoke({"messages": [("user", "What is the weather in Paris?")]})
    assert isinstance(state["structured_response"], Joke)
    assert {m.name for m in state["messages"] if m.type == "tool"} <= {"get_weather", "Joke"}
