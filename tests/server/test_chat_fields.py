"""Fields of chat requests beside the common ones: each is honoured, or named as ignored."""

from __future__ import annotations

import pytest

from engine.errors import InvalidRequestError
from tests.support.chat_asking import NUMBER, USER, choice_of, post, prompt_of, streamed
from tests.support.chat_server import THINKING_TEMPLATE, make_services


def test_a_message_can_be_continued():
    messages = [*USER, {"role": "assistant", "content": "Once upon"}]
    services = make_services(" a time", template=THINKING_TEMPLATE)
    fields = {"continue_final_message": True, "add_generation_prompt": False}
    assert choice_of(services, messages=messages, **fields)["message"]["content"] == " a time"
    assert prompt_of(services).endswith("assistant\nOnce upon")
    services = make_services("ok")
    choice_of(services, messages=messages, add_generation_prompt=False)
    assert prompt_of(services).endswith("Once upon\n")


def test_fields_for_the_engine_reach_it():
    services = make_services("ok")
    choice_of(services, on_length="close", logprobs=True, logprobs_of="model")
    (request,) = services.engine.requests
    assert (request.on_length, request.sampling.logprobs_of) == ("close", "model")


@pytest.mark.parametrize(
    ("limits", "param"),
    [
        ({"max_tokens": 2}, "max_tokens"),
        ({"max_completion_tokens": 2}, "max_completion_tokens"),
        ({"max_completion_tokens": 2, "max_tokens": 3}, "max_completion_tokens"),
        ({"max_completion_tokens": 3, "max_tokens": 2}, "max_tokens"),
    ],
)
def test_a_limit_that_is_too_little_is_told_by_the_field_that_was_sent(limits, param, monkeypatch):
    def refuse(_request):
        raise InvalidRequestError("max_tokens", "2 is too little")

    services = make_services("ok")
    monkeypatch.setattr(services.engine, "check_request", refuse)
    error = post(services, json_schema=NUMBER, on_length="close", **limits).json()["error"]
    assert (error["param"], error["message"]) == (param, f"{param}: 2 is too little")


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_the_limit_has_closed_is_whole_and_says_so(stream):
    services = make_services('{"n": 1}', was_closed=True)
    fields = {"json_schema": NUMBER, "on_length": "close", "max_tokens": 20}
    last = streamed(services, **fields)[-1] if stream else post(services, **fields).json()
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["tightrope"] == {"closed_choices": [0]}


def test_closing_is_named_as_ignored_where_text_is_free():
    response = post(make_services("ok"), on_length="close")
    assert response.headers["x-tightrope-ignored"] == "on_length"
    response = post(make_services('{"n": 1}'), on_length="close", json_schema=NUMBER)
    assert "x-tightrope-ignored" not in response.headers


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_an_effort_is_honoured_or_named_as_ignored(effort):
    response = post(make_services("ok", template=THINKING_TEMPLATE), reasoning_effort=effort)
    ignored = response.headers.get("x-tightrope-ignored")
    assert ignored == (None if effort == "none" else "reasoning_effort")
