"""Structured answers and tool calls from a running Tightrope, through the OpenAI SDK.

Start the server first (`make serve`), then: .venv/bin/python examples/quickstart.py

The forms are guaranteed whatever the model is; how good the content is depends on the model.
"""

from __future__ import annotations

import json
import os

from openai import OpenAI
from pydantic import BaseModel, Field

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "not needed"),
)
model = client.models.list().data[0].id


class Person(BaseModel):
    """Somebody in a text."""

    name: str = Field(max_length=40)
    age: int = Field(ge=0, le=150)
    email: str = Field(pattern=r"^[a-z]+@[a-z]+\.[a-z]{2,}$")


CITY_SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 40},
        "country_code": {"type": "string", "pattern": "^[A-Z]{2}$"},
        "population": {"type": "integer", "minimum": 0},
        "is_capital": {"type": "boolean"},
    },
    "required": ["city", "country_code", "population", "is_capital"],
    "additionalProperties": False,
}

WEATHER_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city now.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 40},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}


def get_weather(city: str, unit: str) -> str:
    """Stands for a real service."""
    degrees = 21 if unit == "celsius" else 70
    return json.dumps({"city": city, "temperature": degrees, "unit": unit})


def parse_into_pydantic() -> None:
    """A Pydantic class in, an object of it out."""
    completion = client.chat.completions.parse(
        model=model,
        messages=[
            {
                "role": "user",
                "content": "Ada Lovelace is 36 years old, her email is ada@example.com. "
                "Extract the person as JSON.",
            }
        ],
        response_format=Person,
        temperature=0,
        max_tokens=200,
    )
    print("parsed:      ", repr(completion.choices[0].message.parsed))


def stream_a_document() -> None:
    """A JSON Schema in, its document out, piece by piece; the same one as without streaming."""
    request = {
        "model": model,
        "messages": [{"role": "user", "content": "Describe the city of Paris as JSON."}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "city", "strict": True, "schema": CITY_SCHEMA},
        },
        "temperature": 0,
        "max_tokens": 200,
    }
    print("streamed:     ", end="")
    pieces = []
    for chunk in client.chat.completions.create(**request, stream=True):
        piece = chunk.choices[0].delta.content or "" if chunk.choices else ""
        pieces.append(piece)
        print(piece, end="", flush=True)
    print()
    whole = client.chat.completions.create(**request).choices[0].message.content
    assert "".join(pieces) == whole
    print("one-shot:    ", json.loads(whole))


def call_a_tool() -> None:
    """A tool call, and a second turn in which the model sees what the tool said."""
    messages = [{"role": "user", "content": "What is the weather in Paris, in celsius?"}]
    first = client.chat.completions.create(
        model=model,
        messages=messages,
        tools=[WEATHER_TOOL],
        tool_choice={"type": "function", "function": {"name": "get_weather"}},
        temperature=0,
        max_tokens=200,
    )
    call = first.choices[0].message.tool_calls[0]
    result = get_weather(**json.loads(call.function.arguments))
    print("tool call:   ", call.function.name, call.function.arguments, "->", result)

    messages += [
        first.choices[0].message,
        {"role": "tool", "tool_call_id": call.id, "content": result},
    ]
    second = client.chat.completions.create(
        model=model,
        messages=messages,
        tools=[WEATHER_TOOL],
        tool_choice="none",
        temperature=0,
        max_tokens=60,
    )
    print("second turn: ", second.choices[0].message.content)


def call_tools_in_parallel() -> None:
    """Several calls in one answer, streamed: fragments are joined by the index of their call."""
    stream = client.chat.completions.create(
        model=model,
        messages=[
            {"role": "user", "content": "What is the weather in Paris and in Rome, in celsius?"}
        ],
        tools=[WEATHER_TOOL],
        tool_choice="required",
        parallel_tool_calls=True,
        temperature=0,
        max_tokens=120,
        stream=True,
    )
    names: list[str] = []
    arguments: list[str] = []
    for chunk in stream:
        choice = chunk.choices[0]
        for fragment in choice.delta.tool_calls or []:
            if fragment.index == len(names):  # the first fragment of a call has its name
                names.append(fragment.function.name)
                arguments.append("")
            arguments[fragment.index] += fragment.function.arguments
    if choice.finish_reason == "length" and arguments:  # max_tokens cut the last call
        arguments.pop()
    for index, (name, text) in enumerate(zip(names, arguments, strict=False)):
        print(f"call {index}:      ", name, json.loads(text))


if __name__ == "__main__":
    parse_into_pydantic()
    stream_a_document()
    call_a_tool()
    call_tools_in_parallel()
