"""Ollama's API: its client on scripted answers and a tiny random model; shapes."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Literal

import httpx
import ollama
import pytest
from pydantic import BaseModel

from server.config import ServerConfig
from tests.support.chat_server import (
    MODEL,
    THINKING_TEMPLATE,
    TOOL_TEMPLATE,
    make_services,
    running,
)
from tests.support.shared_data import shared_file
from tests.support.tiny_server import CONTEXT_LEN, tiny_server

CHAT = "/api/chat"
GENERATE = "/api/generate"
USER: Any = [{"role": "user", "content": "hi"}]
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
TOOLS: Any = [
    {"type": "function", "function": {"name": "f", "parameters": SCHEMA}},
    {"function": {"name": "g"}},
]
F = '<tool_call>\n{"name": "f", "arguments": {"n": 1, "s": "天 </b> }"}}\n</tool_call>'
G = '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'
TIMES = {
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
}
CALL = {"function": {"name": "f", "arguments": {"n": 1}}}


def ask(path: str, *texts: str | None, services: Any = None, **fields: Any) -> httpx.Response:
    services = services or make_services(*texts, template=THINKING_TEMPLATE)
    asked = {"messages": USER} if path == CHAT else {"prompt": "hi"}
    with running(services) as url:
        return httpx.post(f"{url}{path}", json={"model": MODEL} | asked | fields, timeout=60)


def lines_of(*texts: str, services: Any = None, **fields: Any) -> list[dict[str, Any]]:
    """The lines of a streamed chat, which is the default."""
    response = ask(CHAT, *texts, services=services, **fields)
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.text.splitlines()]


def body_of(path: str, *texts: str | None, **fields: Any) -> dict[str, Any]:
    response = ask(path, *texts, stream=False, **fields)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def prompt_of(template: str, **fields: Any) -> str:
    services = make_services("ok", template=template)
    response = ask(fields.pop("path", CHAT), services=services, **fields)
    assert response.status_code == 200, response.text
    controls = {c.token_id: c.text.encode() for c in services.vocabulary.controls}
    spelled = controls | services.vocabulary.token_bytes
    token_ids = services.engine.requests[0].prompt_token_ids
    return b"".join(spelled[token_id] for token_id in token_ids).decode()


TEXTS = ["Hello wörld ☔", F, f"Let me see.\n{F}\n{G}", f"<think>\nhm ☔\n</think>\n\n{G}"]


@pytest.mark.parametrize("text", TEXTS)
def test_the_lines_of_a_stream_come_to_the_whole_answer(text):
    lines = lines_of(text, tools=TOOLS, think=True)
    whole = body_of(CHAT, text, tools=TOOLS, think=True)
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert (
        set(lines[-1])
        == set(whole)
        == {"model", "created_at", "message", "done", "done_reason", *TIMES}
    )
    messages = [line["message"] for line in lines]
    assert {message["role"] for message in messages} == {"assistant"}
    streamed = {
        "content": "".join(message["content"] for message in messages),
        "thinking": "".join(message.get("thinking", "") for message in messages),
        "calls": [call for message in messages for call in message.get("tool_calls", [])],
    }
    message = whole["message"]
    assert streamed["content"] == message["content"]
    assert streamed["thinking"] == message.get("thinking", "")
    functions = [call["function"] for call in streamed["calls"]]
    assert functions == [call["function"] for call in message.get("tool_calls", [])]
    assert [function["index"] for function in functions] == list(range(len(functions)))
    assert lines[-1]["done_reason"] == whole["done_reason"] == "stop"
    assert lines[-1]["eval_count"] == whole["eval_count"]


def test_b046_text_is_told_step_by_step_also_beside_tools():
    lines = lines_of("hello", tools=TOOLS)
    assert [line["message"]["content"] for line in lines] == [*"hello", ""]


def test_arguments_of_calls_are_objects():
    (call,) = body_of(CHAT, F, tools=TOOLS)["message"]["tool_calls"]
    assert call["function"] == {"index": 0, "name": "f", "arguments": {"n": 1, "s": "天 </b> }"}}


def test_a_call_that_is_cut_is_not_told():
    body = body_of(CHAT, F, tools=TOOLS, options={"num_predict": 46})
    assert body["message"] == {"role": "assistant", "content": ""}
    assert body["done_reason"] == "length"


def test_times_are_counts_of_nanoseconds():
    body = body_of(GENERATE, "ok")
    assert all(type(body[name]) is int and body[name] >= 0 for name in TIMES)
    assert body["eval_count"] == 2
    assert body["total_duration"] >= body["prompt_eval_duration"] + body["eval_duration"]
    assert datetime.fromisoformat(body["created_at"]).tzinfo is not None


@pytest.mark.parametrize("path", [CHAT, GENERATE])
@pytest.mark.parametrize(("given", "text"), [(SCHEMA, '{"n": 7}'), ("json", "{}"), ("", "free")])
def test_a_format_binds_the_text(path, given, text):
    body = body_of(path, text, format=given)
    assert text == (body["message"]["content"] if path == CHAT else body["response"])


@pytest.mark.parametrize("think", [None, True, False])
def test_b059_a_format_holds_whatever_is_said_of_thinking(think):
    fields = {} if think is None else {"think": think}
    text = '{"n": 7}' if think is False else '<think>\nhm\n</think>\n\n{"n": 7}'
    message = body_of(CHAT, text, format=SCHEMA, **fields)["message"]
    assert json.loads(message["content"]) == {"n": 7}
    assert message.get("thinking") == (None if think is False else "hm")


def test_options_reach_the_sampler():
    options = {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "repeat_penalty": 1.1,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "seed": 7,
        "num_predict": 9,
    }
    services = make_services("ok")
    ask(CHAT, services=services, options=options)
    sampling = services.engine.requests[0].sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (0.5, 0.9, 40)
    assert (sampling.min_p, sampling.repetition_penalty, sampling.seed) == (0.05, 1.1, 7)
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (0.1, 0.2)
    assert sampling.max_tokens == 9
    assert body_of(GENERATE, "a STOP b", options={"stop": ["STOP"]})["response"] == "a "


@pytest.mark.parametrize("num_predict", [-1, -2])
def test_no_limit_means_the_contexts(num_predict):
    services = make_services("ok", max_model_len=500)
    ask(CHAT, services=services, options={"num_predict": num_predict})
    (request,) = services.engine.requests
    assert request.sampling.max_tokens == 500 - len(request.prompt_token_ids)


UNTYPED = [{}, {"content-type": "application/x-www-form-urlencoded"}]
"""LiteLLM's requests, and those of curl as Ollama's documentation writes them."""


@pytest.mark.parametrize("headers", UNTYPED, ids=["LiteLLM", "curl"])
@pytest.mark.parametrize(
    ("path", "fields"),
    [(CHAT, {"messages": USER}), (GENERATE, {"prompt": "hi"}), ("/api/show", {})],
)
def test_bodies_may_come_without_their_type_but_not_from_web_pages(path, fields, headers):
    body = json.dumps({"model": MODEL} | fields)
    with running(make_services("ok", "ok")) as url, httpx.Client(base_url=url) as http:
        assert http.post(path, content=body, headers=headers).status_code == 200
        from_page = headers | {"origin": "https://app.example"}
        refused = http.post(path, content=body, headers=from_page)
        assert refused.status_code == 415
        assert refused.json() == {"error": "Send the body as content-type: application/json"}
        plain = http.post(path, content=body, headers={"content-type": "text/plain"})
        assert plain.status_code == 415


def test_what_has_no_effect_is_named():
    services = make_services("ok")
    options = {"num_ctx": 4096, "mirostat": 1, "novelty": 1}
    response = ask(CHAT, services=services, options=options, keep_alive="5m", think=True)
    assert response.headers["x-tightrope-ignored"] == (
        "keep_alive, options.mirostat, options.num_ctx, think"
    )
    assert response.headers["x-tightrope-unknown"] == "options.novelty"


def test_history_is_rendered_with_results_by_name_by_id_and_by_place():
    messages = [
        *USER,
        {
            "role": "assistant",
            "tool_calls": [CALL, {"function": {"name": "g"}}, CALL | {"id": "c"}],
        },
        {"role": "tool", "content": "of g", "tool_name": "g"},
        {"role": "tool", "content": "of c", "tool_call_id": "c"},
        {"role": "tool", "content": "of f", "tool_call_id": "made up"},
    ]
    prompt = prompt_of(TOOL_TEMPLATE, messages=messages)
    f, g = F.replace(', "s": "天 </b> }"', ""), G
    assert prompt == (
        "<|im_start|>user\nhi<|im_end|>\n"
        f"<|im_start|>assistant\n{f}{g}{f}<|im_end|>\n"
        "<|im_start|>tool\nof g<|im_end|>\n<|im_start|>tool\nof c<|im_end|>\n"
        "<|im_start|>tool\nof f<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_prompt_is_a_question_behind_a_system_message_or_raw():
    rendered = prompt_of(TOOL_TEMPLATE, path=GENERATE, system="be brief")
    assert rendered == (
        "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert prompt_of(TOOL_TEMPLATE, path=GENERATE, raw=True) == "hi"


def test_logprobs_are_told_with_their_tokens():
    lines = lines_of("ab", logprobs=True, top_logprobs=2)
    told = [entry for line in lines for entry in line.get("logprobs", [])]
    assert [entry["token"] for entry in told] == ["a", "b"]
    assert all(len(entry["top_logprobs"]) == 2 for entry in told)


@pytest.mark.parametrize("path", [CHAT, GENERATE])
def test_without_a_prompt_the_model_is_only_loaded(path):
    body = ask(path, "ok", messages=[], prompt="").json()
    assert (body["done"], body["done_reason"]) == (True, "load")


@pytest.fixture(scope="module")
def url():
    with running(make_services(None)) as url:
        yield url


def test_b032_a_failure_in_a_stream_is_one_line_that_the_client_raises():
    services = make_services("hello", fails_after=2)
    lines = lines_of(services=services)
    assert lines[-1] == {"error": "The generation failed: injected"}
    services = make_services("hello", fails_after=2)
    with running(services) as url, ollama.Client(host=url) as client:
        stream = client.chat(model=MODEL, messages=USER, stream=True)
        with pytest.raises(ollama.ResponseError, match="The generation failed: injected"):
            list(stream)


def test_a_silent_stream_is_kept_alive_with_empty_parts():
    config = ServerConfig(keep_alive_s=0.05, generation_timeout_s=0.5)
    lines = lines_of(services=make_services("hello", config=config, pause_after=1))
    contents = [line["message"]["content"] for line in lines[:-1]]
    assert contents[0] == "h"
    assert set(contents[1:]) == {""}


def test_clients_find_the_release_of_the_api_and_what_they_show_of_a_model(url):
    """VS Code's Copilot takes servers from 0.6.4 on, and names a model by its base name."""
    version = httpx.get(f"{url}/api/version").json()["version"]
    assert tuple(map(int, version.split("."))) >= (0, 6, 4)
    shown = httpx.post(f"{url}/api/show", json={"model": MODEL}).json()
    assert shown["model_info"]["general.basename"] == MODEL


def test_every_recorded_request_is_answered(url):
    for text in shared_file("wire/ollama.jsonl").read_text().splitlines():
        record = json.loads(text)
        body = record["body"] and record["body"] | {"model": MODEL}
        response = httpx.request(record["method"], f"{url}{record['path']}", json=body, timeout=60)
        assert response.status_code == 200, response.text
        match record["path"]:
            case "/api/chat":
                message = ollama.ChatResponse(**response.json()).message
                assert message.tool_calls or isinstance(json.loads(message.content or ""), dict)
            case "/api/generate":
                assert ollama.GenerateResponse(**response.json()).response == "ok"
            case "/api/tags":
                assert ollama.ListResponse(**response.json()).models[0].model == MODEL
            case path:
                assert path == "/api/show"
                assert ollama.ShowResponse(**response.json()).capabilities == [
                    "completion",
                    "tools",
                ]


class Weather(BaseModel):
    city: Literal["Paris", "Lima"]
    is_cold: bool


WEATHER_TOOL: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Paris", "Lima"]}},
            "required": ["city"],
        },
    },
}


def test_the_client_talks_to_a_running_model(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    options: Any = {"num_predict": 100, "seed": 1}
    schema = Weather.model_json_schema()
    with tiny_server(folder) as url, ollama.Client(host=url) as client:
        (listed,) = client.list().models
        assert listed.model == "tiny"
        assert listed.size
        shown = client.show("tiny")
        assert shown.modelinfo
        assert shown.modelinfo["llama.context_length"] == CONTEXT_LEN
        assert listed.size == 4 * shown.modelinfo["general.parameter_count"]
        (loaded,) = client.ps().models
        assert (loaded.name, loaded.size, loaded.digest) == ("tiny", listed.size, listed.digest)
        assert (loaded.size_vram, loaded.context_length) == (0, CONTEXT_LEN)
        answer = client.chat(model="tiny", messages=USER, format=schema, options=options)
        assert Weather.model_validate_json(answer.message.content or "")
        parts = client.generate(
            model="tiny", prompt="hi", stream=True, format=schema, options=options
        )
        assert Weather.model_validate_json("".join(part.response or "" for part in parts))
        # Calls, or a document of the format; further keys of a call may take all tokens.
        answer = client.chat(
            model="tiny", messages=USER, tools=[WEATHER_TOOL], format=schema, options=options
        )
        calls = answer.message.tool_calls or []
        assert all(call.function.arguments["city"] in ("Paris", "Lima") for call in calls)
        if answer.done_reason == "stop" and not calls:
            assert Weather.model_validate_json(answer.message.content or "")
