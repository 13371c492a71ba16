"""Answers cut by the token limit: what they lack is told (R14); a call is as far as it got."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.calls import spelled_call
from tests.support.chat_server import MODEL, make_services, running

USER: Any = [{"role": "user", "content": "hi"}]
NUMBER: Any = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
TOOL: Any = {"type": "function", "function": {"name": "f", "parameters": NUMBER}}
CALL = spelled_call("f", '{"n": 1}')
NUM_CALL_TOKENS = len(CALL) - len("<tool_call></tool_call>") + 2
"""One a byte; the tags are control tokens."""


def bodies(services, path: str, *, stream: bool, **fields: object) -> list[Any]:
    """The body of an answer, or those of all events of its stream."""
    with running(services) as url:
        body = {"model": MODEL, "stream": stream} | fields
        response = httpx.post(f"{url}{path}", json=body, timeout=60)
    assert response.status_code == 200, response.text
    if not stream:
        return [response.json()]
    lines = response.text.splitlines()
    events = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(event) for event in events if event != "[DONE]"]


def chat(services, *, stream: bool = False, **fields: object) -> list[Any]:
    return bodies(services, "/v1/chat/completions", stream=stream, messages=USER, **fields)


@pytest.mark.parametrize("stream", [False, True])
def test_r14_a_cut_document_tells_how_many_tokens_it_lacks(stream):
    services = make_services('{"n": 12}', '{"n": 345}')
    told = chat(services, stream=stream, json_schema=NUMBER, max_tokens=5, n=2)
    notes = [body["tightrope"] for body in told if "tightrope" in body]
    cut = [choice for note in notes for choice in note["cut_choices"]]
    # Behind `{"n":` a digit and the bracket are the shortest end.
    assert cut == [{"index": 0, "missing_tokens": 2}, {"index": 1, "missing_tokens": 2}]
    noted = [body for body in told if "tightrope" in body]
    assert all(body["choices"][-1]["finish_reason"] == "length" for body in noted)


@pytest.mark.parametrize("stream", [False, True])
def test_a_cut_completion_tells_it_too(stream):
    told = bodies(
        make_services('{"n": 12}'),
        "/v1/completions",
        stream=stream,
        prompt="hi",
        structured_outputs={"json": NUMBER},
        max_tokens=7,
    )
    assert told[-1]["tightrope"] == {"cut_choices": [{"index": 0, "missing_tokens": 1}]}


@pytest.mark.parametrize("stream", [False, True])
def test_a_cut_response_tells_it_too(stream):
    text = {"format": {"type": "json_schema", "name": "number", "schema": NUMBER}}
    services = make_services('{"n": 12}')
    last = bodies(
        services, "/v1/responses", stream=stream, input="hi", text=text, max_output_tokens=7
    )[-1]
    body = last["response"] if stream else last
    assert body["status"] == "incomplete"
    assert body["tightrope"] == {"cut_choices": [{"index": 0, "missing_tokens": 1}]}


@pytest.mark.parametrize("stream", [False, True])
def test_cut_text_without_a_constraint_has_nothing_to_lack(stream):
    told = chat(make_services("once upon a time"), stream=stream, max_tokens=4)
    assert told[-1]["choices"][0]["finish_reason"] == "length"
    assert not any("tightrope" in body for body in told)


def test_text_that_may_end_anywhere_lacks_no_token():
    (body,) = chat(make_services("once upon a time"), tools=[TOOL], max_tokens=4)
    assert body["tightrope"] == {"cut_choices": [{"index": 0, "missing_tokens": 0}]}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("num_missing", [1, 2])
def test_a_call_that_lacks_only_its_closing_tag_is_whole_and_says_length(num_missing, stream):
    """Further calls may be lost, as with OpenAI's API; the note tells that this one is not."""
    told = chat(
        make_services(CALL),
        stream=stream,
        tools=[TOOL],
        tool_choice="required",
        max_tokens=NUM_CALL_TOKENS - num_missing,
    )
    choices = [body["choices"][0] for body in told]
    messages = [choice.get("message") or choice["delta"] for choice in choices]
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"n": 1}
    assert choices[-1]["finish_reason"] == "length"
    cut = {"index": 0, "missing_tokens": num_missing}
    assert told[-1]["tightrope"] == {"cut_choices": [cut]}
