"""`thinking_token_budget`: thoughts end in time, in every API, beside whatever binds the answer."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx
import openai
import pytest

from server.wire.thinking_budget import OTHER_BUDGET_NAMES
from tests.support.chat_asking import NUMBER, USER, F, choice_of, error_of, post, streamed
from tests.support.chat_server import (
    MODEL,
    OPEN_THINKING_TEMPLATE,
    THINKING_TEMPLATE,
    make_services,
    running,
)
from tests.support.tiny_server import tiny_server

DOCUMENT: Any = {"type": "json_schema", "json_schema": {"name": "n", "schema": NUMBER}}
BINDING: dict[str, Any] = {
    "free text": {},
    "a document": {"response_format": DOCUMENT},
    "tools": {"tools": [F]},
    "forced calls": {"tools": [F], "tool_choice": "required"},
    "tools or a document": {"tools": [F], "response_format": DOCUMENT},
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A random model, whose thoughts never end by themselves; the prompt has opened them."""
    folder = tmp_path_factory.mktemp("tiny")
    with tiny_server(folder, chat_template=OPEN_THINKING_TEMPLATE) as url:
        yield url


@pytest.mark.parametrize("budget", [0, 12])
@pytest.mark.parametrize("binding", BINDING)
@pytest.mark.parametrize("extras", [{}, {"logprobs": True}, {"n": 2}], ids=["", "logprobs", "n"])
def test_thoughts_of_a_random_model_end_within_the_budget(tiny, budget, binding, extras):
    body: Any = {"messages": USER, "max_tokens": 400, "seed": 5, "model": "tiny"} | BINDING[binding]
    body["model"] = httpx.get(f"{tiny}/v1/models").json()["data"][0]["id"]
    answer = httpx.post(
        f"{tiny}/v1/chat/completions",
        json=body | extras | {"thinking_token_budget": budget},
        timeout=120,
    )
    assert answer.status_code == 200, answer.text
    assert "thinking_token_budget" in answer.headers["x-tightrope-enforced"]
    details = answer.json()["usage"]["completion_tokens_details"]
    num_tag_tokens = len("</think>")
    num_choices = len(answer.json()["choices"])
    assert details["reasoning_tokens"] <= num_choices * (budget + num_tag_tokens)
    for choice in answer.json()["choices"]:
        if choice["finish_reason"] != "length" and binding != "tools":
            message = choice["message"]
            assert message["content"] or message.get("tool_calls") or binding == "free text"


def test_without_a_budget_the_same_thoughts_go_on(tiny):
    model = httpx.get(f"{tiny}/v1/models").json()["data"][0]["id"]
    body: Any = {"model": model, "messages": USER, "max_tokens": 100, "seed": 5}
    answer = httpx.post(f"{tiny}/v1/chat/completions", json=body, timeout=120).json()
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] > 12 + len("</think>")


@pytest.mark.parametrize("binding", BINDING)
def test_thoughts_within_the_budget_are_as_they_are(binding):
    call = '<tool_call>\n{"name": "f", "arguments": {"n": 1}}\n</tool_call>'
    rest = {"free text": "ok", "a document": '{"n": 1}', "tools": "ok"}.get(binding, call)
    fields = BINDING[binding] | {"thinking_token_budget": 4}
    for template, text in (
        (THINKING_TEMPLATE, "<think>\nhm\n</think>\n\n"),
        (OPEN_THINKING_TEMPLATE, "hm\n</think>\n\n"),
        (THINKING_TEMPLATE, ""),
    ):
        services = make_services(text + rest, template=template)
        message = choice_of(services, **fields)["message"]
        assert message.get("reasoning_content") == ("hm" if text else None)
        assert message["content"] == (None if rest == call else rest)


def test_a_fifth_token_of_four_is_not_allowed():
    services = make_services("<think>12345</think>ok", template=THINKING_TEMPLATE)
    response = post(services, thinking_token_budget=4)
    assert response.status_code == 500  # the engine of this test insists on its text


@pytest.mark.parametrize(
    "fields", [{}, {"chat_template_kwargs": {"enable_thinking": False}}], ids=["never", "not now"]
)
def test_where_the_model_does_not_think_the_budget_is_named_as_ignored(fields):
    template: Any = {"template": THINKING_TEMPLATE} if fields else {}
    services = make_services("ok", **template)
    response = post(services, thinking_token_budget=4, **fields)
    assert response.headers["x-tightrope-ignored"] == "thinking_token_budget"
    assert "x-tightrope-enforced" not in response.headers
    assert services.engine.requests[0].constraint is None


def test_a_stream_has_the_same_budget():
    chunks = streamed(
        make_services(None, template=OPEN_THINKING_TEMPLATE),
        thinking_token_budget=3,
        response_format=DOCUMENT,
    )
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert len("".join(delta.get("reasoning_content") or "" for delta in deltas)) <= 3
    assert "n" in json.loads("".join(delta.get("content") or "" for delta in deltas))


def test_an_answer_that_closes_in_time_closes_its_thoughts_too():
    services = make_services(None, template=OPEN_THINKING_TEMPLATE)
    response = post(services, thinking_token_budget=50, on_length="close", max_tokens=90)
    assert "x-tightrope-ignored" not in response.headers
    assert services.engine.requests[0].on_length == "close"


def test_a_budget_says_where_the_answer_may_end_so_ignore_eos_has_no_effect():
    services = make_services(None, template=OPEN_THINKING_TEMPLATE)
    response = post(services, thinking_token_budget=1, ignore_eos=True)
    assert response.headers["x-tightrope-ignored"] == "ignore_eos"


@pytest.mark.parametrize("name", OTHER_BUDGET_NAMES)
def test_the_names_of_other_servers_are_refused_with_ours(name):
    error = error_of(**{name: 100})
    assert (error["param"], error["code"]) == (name, "unsupported_parameter")
    assert "use thinking_token_budget" in error["message"]


@pytest.mark.parametrize("budget", [-1, 1.5, "4", True])
def test_a_budget_is_a_whole_number(budget):
    assert error_of(thinking_token_budget=budget)["param"] == "thinking_token_budget"


def test_openais_client_sends_it_as_an_extra_field():
    with (
        running(make_services(None, template=OPEN_THINKING_TEMPLATE)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        extra = {"thinking_token_budget": 6}
        chat = client.chat.completions.create(model=MODEL, messages=USER, extra_body=extra)
        response = client.responses.create(model=MODEL, input="hi", extra_body=extra)
    assert chat.usage is not None
    assert chat.usage.completion_tokens_details is not None
    assert chat.usage.completion_tokens_details.reasoning_tokens == 7  # the tag is one token here
    assert response.usage is not None
    assert response.usage.output_tokens_details.reasoning_tokens == 7


def message_of(thinking: Any) -> Any:
    services = make_services(None, template=OPEN_THINKING_TEMPLATE)
    with (
        running(services) as url,
        anthropic.Anthropic(base_url=url, api_key="x", max_retries=0) as client,
    ):
        return client.messages.with_raw_response.create(
            model=MODEL, max_tokens=400, messages=USER, thinking=thinking
        )


def test_anthropics_budget_tokens_are_the_same():
    raw = message_of({"type": "enabled", "budget_tokens": 5})
    assert raw.headers["x-tightrope-enforced"] == "thinking.budget_tokens"
    (thoughts, *_) = raw.parse().content
    assert (thoughts.type, len(thoughts.thinking)) == ("thinking", 5)


def test_beside_adaptive_thinking_anthropics_budget_means_nothing():
    raw = message_of({"type": "adaptive", "budget_tokens": 0})
    assert raw.headers["x-tightrope-ignored"] == "thinking.budget_tokens"
    assert "x-tightrope-enforced" not in raw.headers
