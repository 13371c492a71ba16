"""POST /v1/messages over scripted answers: blocks, events, stop reasons, headers."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx
import pytest
from anthropic.types import Message

from server.config import ServerConfig
from tests.support.chat_server import (
    MODEL,
    PLAIN_TEMPLATE,
    THINKING_TEMPLATE,
    make_services,
    running,
)
from tests.support.messages_asking import (
    CALL,
    DOCUMENT,
    PATH,
    RESULT,
    SCHEMA,
    TEXT,
    TOOLS,
    USER,
    F,
    G,
    ask,
    prompt_of,
)


def answer(*texts: str | None, **fields: Any) -> Any:
    response = ask(*texts, **fields)
    assert response.status_code == 200, response.text
    return Message.model_validate(response.json())


def events_of(text: str, *, tokens_per_step: int = 1, **fields: Any) -> list[dict[str, Any]]:
    services = make_services(text, template=THINKING_TEMPLATE, tokens_per_step=tokens_per_step)
    response = ask(services=services, stream=True, **fields)
    assert response.headers["content-type"].startswith("text/event-stream")
    events = []
    for block in response.text.removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


TEXTS = {
    "Hello wörld ☔": ["text"],
    F: ["tool_use"],
    f"Let me see.\n{F}\n{G}": ["text", "tool_use", "tool_use"],
    f"<think>\nhm ☔\n</think>\n\n{G}": ["thinking", "tool_use"],
    "<think>\nhm\n</think>\n\nThe answer.": ["thinking", "text"],
}
THINKING = {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.parametrize("tokens_per_step", [1, 7])
@pytest.mark.parametrize("text", TEXTS)
def test_the_events_of_a_stream_come_in_order_block_after_block(text, tokens_per_step):
    events = events_of(text, tokens_per_step=tokens_per_step, tools=TOOLS, thinking=THINKING)
    kinds = [event["type"] for event in events]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    started = events[0]["message"]
    assert (started["content"], started["stop_reason"]) == ([], None)
    assert started["usage"]["input_tokens"] > 0
    open_index: int | None = None
    blocks: list[str] = []
    for event in events[1:-2]:
        match event["type"]:
            case "content_block_start":
                assert open_index is None
                open_index = event["index"]
                assert open_index == len(blocks)
                blocks.append(event["content_block"]["type"])
            case "content_block_stop":
                assert event["index"] == open_index
                open_index = None
            case kind:
                assert (kind, event["index"]) == ("content_block_delta", open_index)
    assert open_index is None
    assert blocks == TEXTS[text]


@pytest.mark.parametrize("text", TEXTS)
def test_a_stream_accumulates_to_the_whole_answer(text):
    fields: Any = {"tools": TOOLS, "thinking": THINKING}
    services = make_services(text, template=THINKING_TEMPLATE)
    with (
        running(services) as url,
        anthropic.Anthropic(base_url=url, api_key="x", max_retries=0) as client,
        client.messages.stream(model=MODEL, max_tokens=200, messages=USER, **fields) as stream,
    ):
        streamed = stream.get_final_message()
    whole = answer(text, **fields)
    assert facts(streamed) == facts(whole)
    assert streamed.usage == whole.usage


def facts(message: Any) -> Any:
    """A message without its ids, which are new each time."""
    content = [block.model_dump(exclude={"id", "parsed_output"}) for block in message.content]
    return content, message.stop_reason, message.stop_sequence, message.model


@pytest.mark.parametrize(
    ("text", "fields", "reason", "sequence"),
    [
        ("done", {}, "end_turn", None),
        ("a STOP b", {"stop_sequences": ["X", "STOP"]}, "stop_sequence", "STOP"),
        ("too long", {"max_tokens": 3}, "max_tokens", None),
        (F, {"tools": TOOLS}, "tool_use", None),
        (F, {"tools": TOOLS, "max_tokens": 40}, "max_tokens", None),
    ],
)
def test_an_answer_tells_why_it_ended(text, fields, reason, sequence):
    message = answer(text, **fields)
    assert (message.stop_reason, message.stop_sequence) == (reason, sequence)
    delta = events_of(text, **fields)[-2]["delta"]
    assert delta == {"stop_reason": reason, "stop_sequence": sequence}


def test_a_full_context_is_not_the_requests_limit():
    services = make_services("abcdefghij" * 50, max_model_len=100)
    response = ask(services=services, max_tokens=128_000)
    assert response.json()["stop_reason"] == "model_context_window_exceeded"


def test_a_stop_sequence_is_not_part_of_the_text():
    (block,) = answer("a STOP b", stop_sequences=["STOP"]).content
    assert block.text == "a "


def test_a_call_that_is_cut_keeps_what_is_certain():
    message = answer(F, tools=TOOLS, max_tokens=46)
    (block,) = message.content
    assert (block.type, block.input) == ("tool_use", {"n": 1})


def test_numbers_in_calls_are_told_as_they_were_written():
    number = "123456789012345678901234567890"
    call = f'<tool_call>\n{{"name": "f", "arguments": {{"n": {number}}}}}\n</tool_call>'
    response = ask(call, tools=TOOLS)
    assert f'"input":{{"n": {number}}}' in response.text


def test_cached_prompt_tokens_are_not_counted_as_input():
    usage = answer("ok").usage
    assert usage.cache_read_input_tokens == 0
    assert usage.input_tokens > 0
    assert usage.output_tokens == 2


@pytest.mark.parametrize(
    ("choice", "kinds"),
    [
        ({"type": "auto"}, ["text"]),
        ({"type": "none"}, ["text"]),
        ({"type": "any"}, ["tool_use"]),
        ({"type": "any", "disable_parallel_tool_use": True}, ["tool_use"]),
        ({"type": "tool", "name": "g"}, ["tool_use"]),
    ],
)
def test_tool_choices_bind_the_answer(choice, kinds):
    is_bound = choice["type"] in ("any", "tool")
    message = answer(None if is_bound else "free", tools=TOOLS, tool_choice=choice)
    assert [block.type for block in message.content] == kinds
    if choice.get("name"):
        assert (message.content[0].name, message.content[0].input) == ("g", {})


def test_one_call_at_most_where_parallel_calls_are_off():
    fields: Any = {
        "tools": TOOLS,
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    }
    assert len(answer(f"{G}\n{G}", tools=TOOLS).content) == 2
    # The scripted engine asserts that the constraint allows what it writes.
    assert ask(f"{G}\n{G}", **fields).status_code == 500


@pytest.mark.parametrize(
    "fields",
    [
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"output_format": {"type": "json_schema", "schema": SCHEMA}},
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}, "tools": TOOLS},
    ],
)
def test_a_format_binds_the_text(fields):
    (block,) = answer('{"n": 7}', **fields).content
    assert json.loads(block.text) == {"n": 7}


@pytest.mark.parametrize(
    ("fields", "is_off"),
    [
        ({}, True),
        ({"thinking": {"type": "disabled"}}, True),
        ({"thinking": {"type": "adaptive", "budget_tokens": 0}}, False),
        ({"thinking": {"type": "between_tools"}}, False),
        ({"thinking": THINKING}, False),
        ({"output_config": {"effort": "high"}}, False),
    ],
)
def test_thinking_that_nobody_asks_for_is_off(fields, is_off):
    prompt = prompt_of(THINKING_TEMPLATE, **fields)
    assert prompt.endswith("</think>\n\n") is is_off


def test_history_in_blocks_is_rendered():
    messages = [
        {"role": "user", "content": [TEXT, {"type": "text", "text": "there"}]},
        {"role": "user", "content": "again"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "Let me look."},
                CALL,
                CALL | {"id": "t2"},
            ],
        },
        {"role": "user", "content": [RESULT | {"is_error": True, "content": [TEXT]}]},
        {
            "role": "user",
            "content": [{"type": "text", "text": "go on"}, RESULT | {"tool_use_id": "t2"}],
        },
    ]
    prompt = prompt_of(messages=messages, system=[TEXT, TEXT])
    call = '<tool_call>\n{"name": "f", "arguments": {"n": 1}}\n</tool_call>'
    assert prompt == (
        "<|im_start|>system\nhi\nhi<|im_end|>\n"
        "<|im_start|>user\nhi\nthere\nagain<|im_end|>\n"
        f"<|im_start|>assistant\nLet me look.{call}{call}<|im_end|>\n"
        "<|im_start|>tool\nError: hi<|im_end|>\n"
        "<|im_start|>tool\n2<|im_end|>\n"
        "<|im_start|>user\ngo on<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_last_message_of_the_assistant_is_continued():
    messages = [*USER, {"role": "assistant", "content": "The answer is ("}]
    assert prompt_of(PLAIN_TEMPLATE, messages=messages).endswith("assistant\nThe answer is (")


SHOWN = (
    "<document>\n<title>Colours</title>\n<context>from a book</context>\nGrass is green.\n"
    "</document>"
)


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (DOCUMENT, SHOWN),
        (DOCUMENT | {"title": None, "context": None}, "<document>\nGrass is green.\n</document>"),
        (
            {"type": "document", "source": {"type": "content", "content": "Sky."}},
            "<document>\nSky.\n</document>",
        ),
        (
            {"type": "document", "source": {"type": "content", "content": [TEXT, TEXT]}},
            "<document>\nhi\nhi\n</document>",
        ),
        (
            {"type": "search_result", "source": "a/b", "title": "T", "content": [TEXT, TEXT]},
            "<search_result>\n<source>a/b</source>\n<title>T</title>\nhi\nhi\n</search_result>",
        ),
    ],
)
def test_documents_of_text_are_shown_as_text(block, shown):
    prompt = prompt_of(messages=[{"role": "user", "content": [block, TEXT]}])
    assert f"user\n{shown}\nhi" in prompt
    results = [RESULT | {"content": [block]}]
    messages = [
        *USER,
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": results},
    ]
    assert f"tool\n{shown}" in prompt_of(messages=messages)


def test_citations_that_are_asked_for_are_named_as_ignored():
    messages = [{"role": "user", "content": [DOCUMENT]}]
    assert (
        ask("ok", messages=messages).headers["x-tightrope-ignored"] == "messages.content.citations"
    )


def test_a_billing_header_in_the_system_prompt_is_left_out():
    header = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2; cch=123;"}
    assert prompt_of(system=[header, TEXT]) == prompt_of(system="hi")
    assert ask("ok", system=[header, TEXT]).headers["x-tightrope-ignored"] == "system[0]"


def test_fields_without_effect_are_named():
    response = ask(
        "ok",
        metadata={"user_id": "u"},
        service_tier="auto",
        thinking={"type": "disabled"},
        output_config={"effort": "low"},
        context_management={"edits": []},
        tools=[TOOLS[0] | {"cache_control": {"type": "ephemeral"}, "eager_input_streaming": True}],
        system=[TEXT | {"cache_control": {"type": "ephemeral"}}],
        novelty=1,
    )
    assert response.headers["x-tightrope-unknown"] == "novelty"
    assert response.headers["x-tightrope-ignored"].split(", ") == [
        "system.cache_control",
        "tools.cache_control",
        "context_management",
        "metadata",
        "service_tier",
        "output_config.effort",
    ]
    asks_in_vain = ask(services=make_services("ok"), thinking=THINKING)
    assert asks_in_vain.headers["x-tightrope-ignored"] == "thinking, thinking.budget_tokens"


def test_what_claude_codes_command_line_sends_is_answered():
    """The fields and headers of its release 2.1.332, with shorter texts."""
    cached = {"cache_control": {"type": "ephemeral"}}
    deferred = {"name": "later", "input_schema": SCHEMA, "defer_loading": True}
    fields: Any = {
        "system": [
            {
                "type": "text",
                "text": "x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=x;",
            },
            {"type": "text", "text": "You are an agent.", **cached},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "<system-reminder>"}, TEXT]},
            {"role": "system", "content": [{"type": "text", "text": "Skills: none", **cached}]},
        ],
        "tools": [*TOOLS, deferred],
        "metadata": {"user_id": '{"session_id": "s"}'},
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "stream": True,
    }
    betas = "claude-code-20250219,context-management-2025-06-27,effort-2025-11-24"
    services = make_services(F)
    with running(services) as url:
        body = {"model": MODEL, "max_tokens": 200} | fields
        headers = {"authorization": "Bearer x", "anthropic-beta": betas, "x-app": "cli"}
        response = httpx.post(f"{url}{PATH}?beta=true", json=body, headers=headers, timeout=60)
    assert response.status_code == 200, response.text
    assert '"stop_reason":"tool_use"' in response.text
    assert response.headers["x-tightrope-enforced"] == "tools"
    assert "x-tightrope-unknown" not in response.headers
    assert "billing" not in prompt_of(**fields)


def test_a_failure_in_a_stream_is_an_event_that_the_client_raises():
    services = make_services("hello", fails_after=2)
    with (
        running(services) as url,
        anthropic.Anthropic(base_url=url, api_key="x", max_retries=0) as client,
        pytest.raises(anthropic.APIStatusError, match="The generation failed: injected") as caught,
        client.messages.stream(model=MODEL, max_tokens=9, messages=USER) as stream,
    ):
        stream.get_final_message()
    body: Any = caught.value.body
    assert body["error"]["type"] == "api_error"


def test_a_silent_stream_is_kept_alive_with_pings():
    config = ServerConfig(keep_alive_s=0.05, generation_timeout_s=0.5)
    services = make_services("hello", config=config, pause_after=1)
    response = ask(services=services, stream=True)
    assert 'event: ping\ndata: {"type":"ping"}\n\n' in response.text
    assert '"type":"timeout_error"' in response.text
