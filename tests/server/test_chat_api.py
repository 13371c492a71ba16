"""POST /v1/chat/completions with openai's own client over a real socket, not streamed."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from server.config import ServerConfig
from tests.support.chat_server import (
    CONTROLS,
    MODEL,
    OPEN_THINKING_TEMPLATE,
    PLAIN_TEMPLATE,
    THINKING_TEMPLATE,
    ScriptedServices,
    make_services,
    running,
)

USER: Any = [{"role": "user", "content": "hi"}]
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
TOOLS: Any = [
    {"type": "function", "function": {"name": "f", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "g"}},
]
FORMAT: Any = {
    "type": "json_schema",
    "json_schema": {"name": "d", "schema": SCHEMA, "strict": True},
}
F = '<tool_call>\n{"name": "f", "arguments": {"n": 1}}\n</tool_call>'
G = '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'


def ask(*texts: str, services: ScriptedServices | None = None, **fields: Any) -> Any:
    """One request to a server whose model writes the texts."""
    services = services or make_services(*texts)
    with (
        running(services) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        answer = client.chat.completions.create(**({"model": MODEL, "messages": USER} | fields))
        return list(answer) if fields.get("stream") else answer


def test_a_text_answer_has_every_required_field():
    answer = ask("Hello wörld ☔")
    assert answer.id.startswith("chatcmpl-")
    assert (answer.object, answer.model) == ("chat.completion", MODEL)
    assert answer.system_fingerprint == "fp_test"
    (choice,) = answer.choices
    assert (choice.index, choice.finish_reason, choice.logprobs) == (0, "stop", None)
    assert choice.message.model_dump(exclude_none=True) == {
        "role": "assistant",
        "content": "Hello wörld ☔",
        "annotations": [],
    }
    assert answer.usage.completion_tokens == len("Hello wörld ☔".encode())
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_b020_b022_calls_become_tool_calls_with_ids_of_their_own():
    """Unique ids, content null, nothing tagged in the content."""
    choice = ask(f"{F}\n{G}", tools=TOOLS).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    calls = choice.message.tool_calls
    assert [(c.type, c.function.name, c.function.arguments) for c in calls] == [
        ("function", "f", '{"n": 1}'),
        ("function", "g", "{}"),
    ]
    assert len({call.id for call in calls}) == 2


def test_text_beside_a_call_is_content():
    message = ask(f"Let me see.\n{F}", tools=TOOLS).choices[0].message
    assert message.content == "Let me see."
    assert len(message.tool_calls) == 1


def test_models_whose_tags_are_plain_text_call_tools_too():
    services = make_services(F, template=PLAIN_TEMPLATE, controls=CONTROLS[:2])
    choice = ask(services=services, tools=TOOLS, tool_choice="required").choices[0]
    assert choice.message.tool_calls[0].function.name == "f"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("text", "choice", "max_tokens", "finish"),
    [
        (F, "required", None, "tool_calls"),
        (F, "auto", None, "tool_calls"),
        (F, {"type": "function", "function": {"name": "f"}}, None, "tool_calls"),
        ("hi", "auto", None, "stop"),
        pytest.param(F, "required", 10, "length", id="B035 no call yet"),
        (F, "required", 32, "length"),  # inside the arguments
    ],
)
def test_b036_b047_finish_reasons_are_the_same_streamed_or_not(
    text, choice, max_tokens, finish, stream
):
    answer = ask(text, tools=TOOLS, tool_choice=choice, max_tokens=max_tokens, stream=stream)
    if not stream:
        assert answer.choices[0].finish_reason == finish
        return
    reasons = [chunk.choices[0].finish_reason for chunk in answer if chunk.choices]
    assert reasons[-1] == finish
    assert set(reasons[:-1]) == {None}


@pytest.mark.parametrize("max_tokens", [10, 25])
@pytest.mark.parametrize("stream", [False, True])
def test_a_call_cut_before_its_arguments_leaves_nothing_in_the_content(max_tokens, stream):
    answer = ask(f"Look: {F}", tools=TOOLS, max_tokens=6 + max_tokens, stream=stream)
    if stream:
        deltas = [chunk.choices[0].delta for chunk in answer]
        assert not any(delta.tool_calls for delta in deltas)
        content = "".join(delta.content or "" for delta in deltas)
    else:
        content = answer.choices[0].message.content
    assert content == "Look:"


def test_a_document_is_the_content_and_parses():
    class Document(BaseModel):
        n: int

    services = make_services('{"n": 7}')
    with (
        running(services) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        answer = client.chat.completions.parse(model=MODEL, messages=USER, response_format=Document)
    assert answer.choices[0].message.parsed == Document(n=7)
    assert services.engine.requests[0].constraint is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": FORMAT},
        {"response_format": {"type": "json_object"}},
        {"extra_body": {"structured_outputs": {"json": SCHEMA}}},
        {"extra_body": {"structured_outputs": {"json": json.dumps(SCHEMA)}}},
        {"extra_body": {"guided_json": SCHEMA}},
        {"extra_body": {"structured_outputs": {"regex": r'\{"n": [0-9]\}'}}},
        {"extra_body": {"guided_choice": ['{"n": 1}', "no"]}},
    ],
)
def test_every_way_to_ask_for_a_document_is_enforced(fields):
    services = make_services('{"n": 1}')
    assert ask(services=services, **fields).choices[0].message.content == '{"n": 1}'
    constraint = services.engine.requests[0].constraint
    assert constraint is not None
    assert constraint.is_complete


@pytest.mark.parametrize(
    ("template", "kwargs", "text"),
    [
        (OPEN_THINKING_TEMPLATE, {}, 'hm\n</think>\n\n{"n": 1}'),
        (THINKING_TEMPLATE, {}, '<think>\nhm\n</think>\n\n{"n": 1}'),
        (THINKING_TEMPLATE, {}, '{"n": 1}'),
        (THINKING_TEMPLATE, {"enable_thinking": False}, '{"n": 1}'),
    ],
)
def test_b057_b059_thoughts_are_reasoning_and_the_document_is_content(template, kwargs, text):
    services = make_services(text, template=template, tokens_per_step=7)
    answer = ask(
        services=services,
        response_format=FORMAT,
        extra_body={"chat_template_kwargs": kwargs},
    )
    message = answer.choices[0].message
    assert message.content == '{"n": 1}'
    assert getattr(message, "reasoning_content", None) == ("hm" if "hm" in text else None)
    assert (answer.usage.completion_tokens_details.reasoning_tokens > 0) == ("hm" in text)


def test_stop_strings_cut_free_text_and_the_engine_stops():
    services = make_services("one two three")
    choice = ask(services=services, stop=["tw"]).choices[0]
    assert (choice.message.content, choice.finish_reason) == ("one ", "stop")
    assert len(services.engine.aborted) == 1


@pytest.mark.parametrize("stop", ["}", '"', "\n", "1"])
def test_b090_stop_strings_never_cut_a_document_or_a_call(stop):
    document = ask('{"n": 1}', stop=stop, response_format=FORMAT).choices[0]
    assert (document.message.content, document.finish_reason) == ('{"n": 1}', "stop")
    call = ask(F, stop=stop, tools=TOOLS).choices[0]
    assert call.message.tool_calls[0].function.arguments == '{"n": 1}'


def test_b010_stop_strings_and_tags_are_held_back_together():
    for tokens_per_step in (1, 2, 3, 50):
        services = make_services(f"a ## b\n{F}", tokens_per_step=tokens_per_step)
        message = ask(services=services, tools=TOOLS, stop=["###"]).choices[0].message
        assert message.content == "a ## b"
        assert len(message.tool_calls) == 1


def test_choices_are_generated_apart_with_seeds_of_their_own():
    services = make_services("one", "two", "three")
    answer = ask(services=services, n=3, seed=5)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert sorted(choice.message.content for choice in answer.choices) == ["one", "three", "two"]
    assert [request.sampling.seed for request in services.engine.requests] == [5, 6, 7]
    assert answer.usage.completion_tokens == len("onetwothree")


def test_logprobs_have_text_and_bytes():
    content = ask("é", logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert [entry.bytes for entry in content] == [[0xC3], [0xA9]]
    assert content[0].token == "\ufffd"
    assert content[0].logprob == -0.5
    assert [(top.bytes, top.logprob) for top in content[0].top_logprobs] == [
        ([0], -1.0),
        ([1], -2.0),
    ]


def test_sampling_fields_reach_the_engine():
    services = make_services("ok")
    ask(
        services=services,
        temperature=0.5,
        top_p=0.9,
        presence_penalty=0.1,
        frequency_penalty=-0.2,
        logit_bias={"5": -3},
        max_tokens=50,
        max_completion_tokens=40,
        extra_body={
            "top_k": 4,
            "min_p": 0.1,
            "repetition_penalty": 1.1,
            "min_tokens": 2,
            "ignore_eos": True,
            "stop_token_ids": [9],
        },
    )
    sampling = services.engine.requests[0].sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.min_p) == (
        0.5,
        0.9,
        4,
        0.1,
    )
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (0.1, -0.2)
    assert (sampling.repetition_penalty, dict(sampling.logit_bias)) == (1.1, {5: -3})
    assert (sampling.max_tokens, sampling.min_tokens, sampling.ignore_eos) == (40, 2, True)
    assert sampling.stop_token_ids == (9,)


def test_zero_like_sampling_is_greedy_and_lengths_are_cut_to_the_context():
    services = make_services("ok", max_model_len=1000)
    for fields in ({"temperature": 1e-320}, {"top_p": 0}, {"max_tokens": 10**12}):
        ask(services=services, **fields)
    samplings = [request.sampling for request in services.engine.requests]
    assert [sampling.temperature for sampling in samplings] == [0, 0, 1]
    assert samplings[0].top_p == 1
    prompt = services.engine.requests[0].prompt_token_ids
    assert {sampling.max_tokens for sampling in samplings} == {1000 - len(prompt)}


def test_what_has_no_effect_is_named_in_headers():
    services = make_services("[]")
    with (
        running(services) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        answer = client.chat.completions.with_raw_response.create(
            model=MODEL,
            messages=USER,
            user="u",
            stop="]",
            extra_body={"guided_regex": r"\[\]", "flux": 1, "naïve\r\nx": 2},
        )
        plain = client.chat.completions.with_raw_response.create(model=MODEL, messages=USER)
    assert answer.headers["x-tightrope-ignored"] == "user, stop"
    assert answer.headers["x-tightrope-unknown"] == "flux, na%C3%AFve%0D%0Ax"
    assert "x-tightrope-ignored" not in plain.headers
    assert "x-tightrope-unknown" not in plain.headers


def test_a_failing_generation_is_an_error_of_the_server_and_of_this_request_alone():
    services = make_services("hello", fails_after=2)
    with pytest.raises(openai.InternalServerError, match="The generation failed: injected"):
        ask(services=services)
    services.engine.fails_after = None
    assert ask(services=services).choices[0].message.content == "hello"


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("stream", [False, True])
def test_an_unexpected_failure_of_the_engine_ends_the_request_and_not_the_server(n, stream):
    """The scripted engine raises where its text breaks the constraint."""
    services = make_services("no JSON", "ok")
    with pytest.raises(openai.APIError, match="An error of the server; its log has it under"):
        ask(services=services, n=n, stream=stream, response_format={"type": "json_object"})
    assert ask(services=services).choices[0].message.content == "ok"


def test_an_overloaded_or_dead_engine_sheds_requests():
    services = make_services("ok")
    services.engine.num_waiting = services.config.max_waiting_requests
    with pytest.raises(openai.RateLimitError, match="max_waiting_requests=512 are waiting"):
        ask(services=services)
    services.engine.num_waiting = 0
    services.engine.is_alive = False
    with pytest.raises(openai.InternalServerError, match="The engine has stopped") as caught:
        ask(services=services)
    assert caught.value.status_code == 503


def test_a_queue_that_fills_up_while_a_constraint_compiles_sheds_it(monkeypatch):
    services = make_services("{}")
    compile_one = services.compiler.compile

    async def compile_while_others_come(spec, **options):
        services.engine.num_waiting = services.config.max_waiting_requests
        return await compile_one(spec, **options)

    monkeypatch.setattr(services.compiler, "compile", compile_while_others_come)
    with pytest.raises(openai.RateLimitError, match="max_waiting_requests=512 are waiting"):
        ask(services=services, response_format={"type": "json_object"})
    assert services.engine.requests == []


def test_a_generation_that_takes_too_long_is_stopped():
    config = ServerConfig(generation_timeout_s=0.2)
    services = make_services("hello", pause_after=2, config=config)
    with pytest.raises(
        openai.InternalServerError, match=r"longer than generation_timeout_s=0\.2 s"
    ) as caught:
        ask(services=services)
    assert caught.value.status_code == 504
    assert len(services.engine.aborted) == 1
