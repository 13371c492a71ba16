"""The whole server with a real model: SmolLM2, greedy, through OpenAI's client."""

from __future__ import annotations

import json
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel

from engine.config import EngineConfig
from server.assembly import load_server
from server.config import ServerConfig
from server.engine_process.settings import EngineProcessConfig
from tests.support.chat_server import running

pytestmark = pytest.mark.model

SETTINGS: Any = {"model": "smollm2", "temperature": 0, "max_tokens": 120}
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city now.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 20},
                "unit": {"enum": ["C", "F"]},
            },
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture(scope="module")
def client(smollm2_folder):
    stages: list[str] = []
    loaded = load_server(
        smollm2_folder,
        EngineConfig(max_model_len=1024, max_num_seqs=8),
        ServerConfig(served_names=("smollm2",)),
        EngineProcessConfig(engine_process=False),
        announce=stages.append,
    )
    assert "Loading the engine: weights" in stages
    with (
        running(loaded.services, loaded.lifespan) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client


def user(text: str) -> Any:
    return [{"role": "user", "content": text}]


def test_a_question_is_answered(client):
    answer = client.chat.completions.create(
        messages=user("What is the capital of France?"), **SETTINGS
    )
    assert "Paris" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"


def test_a_document_parses_streamed_or_not(client):
    class Person(BaseModel):
        name: str
        age: int
        mood: Literal["good", "bad"]

    messages = user("Describe Alice, who is 30 and in a good mood.")
    answer = client.chat.completions.parse(messages=messages, response_format=Person, **SETTINGS)
    assert isinstance(answer.choices[0].message.parsed, Person)
    with client.chat.completions.stream(
        messages=messages, response_format=Person, **SETTINGS
    ) as events:
        streamed = events.get_final_completion()
    assert streamed.choices[0].message.content == answer.choices[0].message.content


def test_a_call_and_its_second_turn(client):
    messages = user("What is the weather in Paris?")
    first = client.chat.completions.create(
        messages=messages,
        tools=[TOOL],
        tool_choice="required",
        parallel_tool_calls=False,
        **SETTINGS,
    )
    assert first.choices[0].finish_reason == "tool_calls"
    (call,) = first.choices[0].message.tool_calls
    arguments = json.loads(call.function.arguments)
    assert set(arguments) == {"city", "unit"}
    assert arguments["unit"] in ("C", "F")
    result = {"role": "tool", "tool_call_id": call.id, "content": "15 C, sunny"}
    second = client.chat.completions.create(
        messages=[*messages, first.choices[0].message, result],
        tools=[TOOL],
        tool_choice="none",
        **SETTINGS,
    )
    assert second.choices[0].message.tool_calls is None
    assert second.choices[0].message.content


def test_choices_with_seeds_repeat(client):
    settings = SETTINGS | {"temperature": 1, "n": 3, "seed": 7, "max_tokens": 8}
    answers = [
        client.chat.completions.create(messages=user("Say a word."), **settings) for _ in range(2)
    ]
    first, second = ([c.message.content for c in answer.choices] for answer in answers)
    assert first == second
    assert len(set(first)) > 1
