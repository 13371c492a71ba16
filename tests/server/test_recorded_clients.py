"""Requests recorded from real clients: each is answered, in shapes that OpenAI's types accept."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from jsonschema import validate
from openai import omit
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types import Completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.support.chat_server import make_services, running
from tests.support.shared_data import SHARED_DATA, recorded_requests

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
FILES = sorted(path.name for path in (SHARED_DATA / "wire").glob("*.jsonl"))


@pytest.fixture(scope="module")
def url():
    services = make_services(None, names=("tr-test", "m"), max_model_len=60_000)
    with running(services) as url:
        yield url


def answer_of(url: str, body: dict[str, Any]) -> ChatCompletion:
    response = httpx.post(f"{url}{CHAT}", json=body, timeout=60)
    assert response.status_code == 200, response.text
    if not body.get("stream"):
        return ChatCompletion.model_validate(response.json())
    events = [block.removeprefix("data: ") for block in response.text.strip().split("\n\n")]
    assert events[-1] == "[DONE]"
    state = ChatCompletionStreamState()
    for event in events[:-1]:
        state.handle_chunk(ChatCompletionChunk.model_validate(json.loads(event)))
    return state.get_final_completion()


@pytest.mark.parametrize("name", FILES or ["openai.jsonl"])
def test_every_recorded_chat_request_is_answered(name, url):
    for record in recorded_requests(name):
        if record["path"] != CHAT:
            continue
        body = record["body"] | {"model": "tr-test", "max_tokens": 2000}
        answer = answer_of(url, body)
        for choice in answer.choices:
            assert choice.finish_reason in ("stop", "tool_calls")
            check_calls(choice.message, body)
            check_document(choice.message, body)


def check_calls(message, body: dict[str, Any]) -> None:
    calls = message.tool_calls or []
    if body.get("tool_choice") == "required" or isinstance(body.get("tool_choice"), dict):
        assert calls
    schemas = {
        t["function"]["name"]: t["function"].get("parameters") for t in body.get("tools") or []
    }
    for call in calls:
        arguments = json.loads(call.function.arguments)
        if isinstance(schema := schemas[call.function.name], dict):
            validate(arguments, schema)


def check_document(message, body: dict[str, Any]) -> None:
    requested = body.get("response_format") or {}
    if message.tool_calls or requested.get("type") in (None, "text"):
        return
    document = json.loads(message.content)
    if requested["type"] == "json_object":
        assert isinstance(document, dict)
    else:
        validate(document, requested["json_schema"]["schema"])


@pytest.mark.parametrize("name", FILES or ["openai.jsonl"])
def test_every_recorded_response_is_given(name, url):
    for record in recorded_requests(name):
        if record["path"] != RESPONSES:
            continue
        body = record["body"] | {"model": "tr-test", "max_output_tokens": 2000}
        answer = response_of(url, body)
        assert answer.status == "completed"
        check_response(answer, body)


def response_of(url: str, body: dict[str, Any]) -> Response:
    answer = httpx.post(f"{url}{RESPONSES}", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    if not body.get("stream"):
        return Response.model_validate_json(answer.content, strict=True)
    events = [block.partition("\ndata: ")[2] for block in answer.text.strip().split("\n\n")]
    state: Any = ResponseStreamState(input_tools=[], text_format=omit)
    for event in events:
        state.handle_event(TypeAdapter(ResponseStreamEvent).validate_json(event))
    return Response.model_validate(json.loads(events[-1])["response"])


def check_response(answer: Response, body: dict[str, Any]) -> None:
    tools = {tool["name"]: tool["parameters"] for tool in body.get("tools") or []}
    calls = [item for item in answer.output if item.type == "function_call"]
    if body.get("tool_choice") == "required" or isinstance(body.get("tool_choice"), dict):
        assert calls
    for call in calls:
        validate(json.loads(call.arguments), tools[call.name])
    requested = (body.get("text") or {}).get("format")
    if requested is not None and not calls:
        validate(json.loads(answer.output_text), requested["schema"])


def test_every_recorded_completion_is_given(url):
    for name in FILES or ["lite.jsonl"]:
        for record in recorded_requests(name):
            if record["path"] == "/v1/completions":
                answer = httpx.post(f"{url}/v1/completions", json=record["body"])
                assert answer.status_code == 200
                Completion.model_validate_json(answer.content, strict=True)
