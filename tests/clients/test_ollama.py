"""Ollama's client, as its guides use it for structured outputs and tools."""

from __future__ import annotations

from typing import Any, Literal

import ollama
from pydantic import BaseModel, Field

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("ollama")
USER: Any = [{"role": "user", "content": "Tell me about Canada."}]


class Country(BaseModel):
    name: str = Field(max_length=20)
    capital: Literal["Ottawa", "Lima"]
    languages: list[Literal["English", "French"]] = Field(max_length=3)


def add_two_numbers(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number
        b: The second number

    Returns:
        The sum of the two numbers
    """
    return a + b


def client_of(url: str) -> Any:
    return ollama.Client(host=url)


def test_a_format_with_a_schema(tiny):
    answer = client_of(tiny).chat(messages=USER, model=MODEL, format=Country.model_json_schema())
    Country.model_validate_json(answer.message.content)


def test_a_streamed_format(tiny):
    parts = client_of(tiny).chat(
        messages=USER, model=MODEL, format=Country.model_json_schema(), stream=True
    )
    Country.model_validate_json("".join(part.message.content for part in parts))


def test_generate_with_a_format(tiny):
    answer = client_of(tiny).generate(
        model=MODEL, prompt="Canada", format=Country.model_json_schema()
    )
    Country.model_validate_json(answer.response)


def test_earlier_calls_and_their_results_are_sent_back(tiny):
    messages: list[Any] = [
        {"role": "user", "content": "What is 2 plus 3?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"function": {"name": "add_two_numbers", "arguments": {"a": 2, "b": 3}}}
            ],
        },
        {"role": "tool", "content": "the sum is 5", "tool_name": "add_two_numbers"},
    ]
    client = client_of(tiny)
    settings: Any = {"model": MODEL, "options": {"num_predict": 8}}
    answer = client.chat(messages=messages, tools=[add_two_numbers], **settings)
    assert answer.message.content
    shorter = client.chat(messages=messages[:1], tools=[add_two_numbers], **settings)
    num_more = answer.prompt_eval_count - shorter.prompt_eval_count
    assert num_more > len('{"name": "add_two_numbers", "arguments": {"a": 2, "b": 3}} the sum is 5')


def test_models_are_listed_and_shown(tiny):
    client = client_of(tiny)
    assert [model.model for model in client.list().models] == [MODEL]
    assert "tools" in client.show(MODEL).capabilities
