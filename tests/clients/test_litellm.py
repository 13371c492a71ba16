"""LiteLLM's routes to servers of OpenAI's, vLLM's, Anthropic's and Ollama's APIs."""

from __future__ import annotations

import json
from typing import Any, Literal

import litellm
import pytest
from pydantic import BaseModel, Field

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("litellm")
USER: Any = [{"role": "user", "content": "Where is the next event?"}]
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "get_current_weather",
            "description": "Get the current weather in a given location",
            "parameters": {
                "type": "object",
                "properties": {
                    "location": {"type": "string", "maxLength": 20},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                },
                "required": ["location", "unit"],
                "additionalProperties": False,
            },
        },
    }
]


class Event(BaseModel):
    name: str = Field(max_length=20)
    city: Literal["Paris", "Lima"]


def settings(url: str, route: str) -> dict[str, Any]:
    base = url if route in ("anthropic", "ollama_chat") else f"{url}/v1"
    return {"model": f"{route}/{MODEL}", "api_base": base, "api_key": "none", "num_retries": 0}


@pytest.mark.parametrize("route", ["openai", "hosted_vllm", "ollama_chat"])
def test_response_format(tiny, route):
    answer = litellm.completion(messages=USER, response_format=Event, **settings(tiny, route))
    Event.model_validate_json(answer.choices[0].message.content)


def test_response_format_by_the_anthropic_route(tiny):
    answer = litellm.completion(
        messages=USER, response_format=Event, max_tokens=2000, **settings(tiny, "anthropic")
    )
    Event.model_validate_json(answer.choices[0].message.content)


@pytest.mark.parametrize("route", ["openai", "hosted_vllm", "anthropic"])
def test_a_tool_is_called_and_its_result_sent_back(tiny, route):
    messages = [*USER]
    answer = litellm.completion(
        messages=messages,
        tools=TOOLS,
        tool_choice="required",
        parallel_tool_calls=False,
        max_tokens=2000,
        **settings(tiny, route),
    )
    choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls
    assert json.loads(call.function.arguments)["unit"] in ("celsius", "fahrenheit")
    messages += [
        choice.message,
        {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": "18"},
    ]
    final = litellm.completion(messages=messages, max_tokens=20, **settings(tiny, route))
    assert final.choices[0].message.content


@pytest.mark.parametrize("route", ["openai", "anthropic"])
def test_a_stream_is_rebuilt(tiny, route):
    chunks = list(
        litellm.completion(
            messages=USER,
            tools=TOOLS,
            tool_choice={"type": "function", "function": {"name": "get_current_weather"}},
            stream=True,
            max_tokens=2000,
            **settings(tiny, route),
        )
    )
    whole = litellm.stream_chunk_builder(chunks, messages=USER)
    (call,) = whole.choices[0].message.tool_calls
    assert call.function.name == "get_current_weather"
    assert json.loads(call.function.arguments).keys() == {"location", "unit"}


def test_constraints_in_extra_body(tiny):
    answer = litellm.completion(
        messages=USER, extra_body={"guided_choice": ["red", "blue"]}, **settings(tiny, "openai")
    )
    assert answer.choices[0].message.content in ("red", "blue")


def test_the_responses_api(tiny):
    answer = litellm.responses(input="Hello", max_output_tokens=20, **settings(tiny, "openai"))
    assert answer.output[0].content[0].text


def test_text_completion(tiny):
    answer = litellm.text_completion(
        prompt="Once", max_tokens=8, **settings(tiny, "text-completion-openai")
    )
    assert answer.choices[0].text


def test_errors_are_told_by_class(tiny):
    with pytest.raises(litellm.BadRequestError, match="is not a type"):
        litellm.completion(
            messages=USER,
            extra_body={"guided_json": {"type": "objekt"}},
            **settings(tiny, "openai"),
        )
    with pytest.raises(litellm.NotFoundError, match="is not served here"):
        litellm.completion(messages=USER, **settings(tiny, "openai") | {"model": "openai/gone"})
