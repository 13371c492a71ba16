"""Templates of many families: the format is found, histories of every form are rendered in it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.calls.formats import FORMATS, calls_text, shown_format
from server.chat.prompt import PromptBuilder
from server.chat.thinking import MISTRAL_THINK, Thinking
from server.errors import RequestError
from server.request_errors import InvalidValueError
from server.wire.policy import parse_chat_request
from tests.support.chat_server import CONTROLS, chat_template, prompt_builder, tokenizer_json
from tests.support.templates import (
    DEEPSEEK_V31_TEMPLATE,
    MISTRAL_ARGS_TEMPLATE,
    MISTRAL_TEMPLATE,
    real_template,
)

OWN = {
    "mistral": MISTRAL_TEMPLATE,
    "mistral_args": MISTRAL_ARGS_TEMPLATE,
    "deepseek_v31": DEEPSEEK_V31_TEMPLATE,
}
FAMILIES = [
    # template, format, whether it shows the tools itself
    ("qwen2_5", "hermes", True),
    ("qwen3", "hermes", True),
    ("qwen3_instruct_2507", "hermes", True),
    ("qwen3_6", "qwen3_coder", True),
    ("nemotron_3_nano", "qwen3_coder", True),
    ("llama3_1", "llama3_json", True),
    ("llama3_2", "llama3_json", True),
    ("deepseekv3", "deepseek_v3", False),
    ("phi3", "hermes", False),
    ("gemma", "hermes", False),
    ("glm4moe", "hermes", False),
    ("mistral", "mistral", True),
    ("mistral_args", "mistral_args", True),
    ("deepseek_v31", "deepseek_v31", False),
]
ARGUMENTS = {"city": "Pâris", "days": 3, "exact": True, "note": None}
ID_A, ID_B = "call_0123456789abcdef01234567", "b"
HISTORY: Any = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": ID_A, "type": "function", "function": {"name": "f", "arguments": ARGUMENTS}},
            {"id": ID_B, "type": "function", "function": {"name": "g", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": ID_B, "content": "result of g"},
    {"role": "tool", "tool_call_id": ID_A, "content": [{"type": "text", "text": "result of f"}]},
]
TOOLS: Any = [
    {"type": "function", "function": {"name": "f", "description": "tells the weather"}},
    {"type": "function", "function": {"name": "g", "description": "tells the time"}},
]


def builder_of(name: str, tool_format: Any = "auto") -> PromptBuilder:
    source = OWN[name] if name in OWN else real_template(name)
    template = chat_template(source)
    return PromptBuilder(template, tokenizer_json(), max_model_len=100_000, tool_format=tool_format)


def prompt_text(builder: PromptBuilder, messages: Any, **fields: object) -> str:
    request = parse_chat_request({"model": "m", "messages": messages} | fields).request
    spelled = {256 + index: tag for index, tag in enumerate(("<|end|>", *CONTROLS))}
    token_ids = builder.build(request).token_ids
    return b"".join(
        bytes([token]) if token < 256 else spelled[token].encode() for token in token_ids
    ).decode()


@pytest.mark.parametrize(("name", "expected", "by_template"), FAMILIES)
def test_the_format_of_a_template_is_found_and_histories_are_rendered_in_it(
    name, expected, by_template
):
    builder = builder_of(name)
    syntax = builder.reply_format.calls
    assert syntax.name == expected
    text = prompt_text(builder, HISTORY, tools=TOOLS)
    assert shown_format(text, "f", ARGUMENTS) is syntax
    second = "".join((*syntax.before_name, "g", *syntax.before_arguments))
    assert "".join(second.split()) in "".join(text.split())
    assert "tells the weather" in text
    assert ("You can call functions to help with the request" in text) is not by_template
    assert "Be brief." in text
    assert "result of f" in text
    assert "result of g" in text
    assert "None" not in text.replace("Be brief.", "")  # B050
    without_tools = prompt_text(builder, HISTORY)  # the second request of many tutorials
    assert shown_format(without_tools, "f", ARGUMENTS) is syntax
    assert "result of f" in without_tools


@pytest.mark.parametrize(("name", "expected", "by_template"), FAMILIES)
def test_odd_histories_are_rendered_or_refused_in_words(name, expected, by_template):
    """B030, B049, B051, B052: nothing of a history ends in a 5xx."""
    builder = builder_of(name)
    user = {"role": "user", "content": "q"}

    def called(arguments: object) -> dict[str, object]:
        function = {"name": "f", "arguments": arguments}
        return {"role": "assistant", "tool_calls": [{"id": "a", "function": function}]}

    result = {"role": "tool", "id": "a", "content": "15C", "extra": 1}
    for arguments in ('{"location": "Par', "null", "", None, "[]", [1], {"a": {"b": [1]}}):
        assert "15C" in prompt_text(builder, [user, called(arguments), result], tools=TOOLS)
    for messages in (
        [{"role": "assistant", "content": "hi"}],
        [{"role": "system", "content": "s"}],
        [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, user],
        [user, user],
        [user, {"role": "system", "content": "late"}, user],
    ):
        try:
            assert prompt_text(builder, messages)
        except InvalidValueError as error:
            refusal = str(error)
        else:
            continue
        assert re.match("messages: the chat template (refused|makes an empty prompt)", refusal)


TEXTS = st.sampled_from(["", "hi", "None", "</think>", "<tool_call>", "[TOOL_CALLS]", "{{ 1 }}"])
CONTENTS = st.one_of(
    TEXTS, st.none(), st.lists(st.builds(lambda t: {"type": "text", "text": t}, TEXTS), max_size=2)
)
PAYLOADS: Any = st.sampled_from([None, "", "{}", "[]", '{"a": "', "null", {"a": [1]}, [1], 5])
IDS = st.sampled_from(["a", "b", "call_0123456789"])
CALLED = st.one_of(
    st.builds(lambda i, a: {"id": i, "function": {"name": "f", "arguments": a}}, IDS, PAYLOADS),
    st.builds(lambda i: {"id": i, "type": "custom", "custom": {"name": "c", "input": "x"}}, IDS),
)
MESSAGES = st.one_of(
    st.builds(lambda r, c: {"role": r, "content": c}, st.sampled_from(["user", "system"]), TEXTS),
    st.builds(lambda i, c: {"role": "tool", "tool_call_id": i, "content": c}, IDS, TEXTS),
    st.builds(
        lambda c, calls: {"role": "assistant", "content": c, "tool_calls": calls or None},
        CONTENTS,
        st.lists(CALLED, max_size=2),
    ),
    st.builds(
        lambda a: {"role": "assistant", "function_call": {"name": "f", "arguments": a}}, PAYLOADS
    ),
    st.builds(lambda c: {"role": "function", "name": "f", "content": c}, TEXTS),
)


@pytest.mark.parametrize(
    "name", ["qwen3", "qwen3_6", "llama3_1", "deepseekv3", "mistral", "mistral_args", "gemma"]
)
@settings(max_examples=40, deadline=None)
@given(messages=st.lists(MESSAGES, min_size=1, max_size=6), continues=st.booleans())
def test_any_history_is_rendered_or_refused(name, messages, continues):
    """Law 2: no history ends in a 5xx."""
    body = {"model": "m", "messages": messages, "tools": TOOLS, "continue_final_message": continues}
    try:
        param = None if cached_builder(name).build(parse_chat_request(body).request) else ""
    except RequestError as error:
        param = error.param or ""
    assert param is None or re.match(r"messages|continue_final_message", param)


@lru_cache(maxsize=8)
def cached_builder(name: str) -> PromptBuilder:
    return builder_of(name)


@pytest.mark.parametrize("name", ["mistral", "qwen3_6", "gemma"])
def test_system_messages_that_a_template_cannot_take_are_joined(name):
    messages = [
        {"role": "system", "content": "one"},
        {"role": "developer", "content": "two"},
        {"role": "user", "content": "q"},
    ]
    assert "one\n\ntwo" in prompt_text(builder_of(name), messages)


def test_ids_that_a_template_cannot_take_are_shortened_alike_in_calls_and_results():
    text = prompt_text(builder_of("mistral"), HISTORY, tools=TOOLS)
    for name in ("f", "g"):
        call_id = text.split(f"result of {name}", 1)[1].split('"call_id": "')[1][:9]
        assert f'"id": "{call_id}"' in text


def test_calls_that_a_template_cannot_take_at_once_are_shown_one_after_the_other():
    text = prompt_text(builder_of("llama3_1"), HISTORY, tools=TOOLS)
    places = [text.index(part) for part in ('"f"', "result of f", '{"name": "g"', "result of g")]
    assert places == sorted(places) or text.rindex('"f"') < text.index("result of f")
    assert text.index("result of f") < text.index('{"name": "g"') < text.index("result of g")


@pytest.mark.parametrize("tool_format", list(FORMATS))
def test_a_format_that_is_asked_for_goes_before_the_templates_own(tool_format):
    builder = builder_of("qwen3", tool_format)
    assert builder.reply_format.calls is FORMATS[tool_format]
    text = prompt_text(builder, HISTORY, tools=TOOLS)
    calls = [("f", ARGUMENTS), ("g", {})]
    assert calls_text(FORMATS[tool_format], calls) in text


def test_an_unknown_form_of_calls_is_trusted_where_the_format_is_named():
    text = prompt_text(builder_of("glm4moe", "hermes"), HISTORY, tools=TOOLS)
    assert "You can call functions to help with the request" not in text
    assert "tells the weather" in text


@pytest.mark.parametrize(
    ("name", "fields", "thinking"),
    [
        ("qwen3", {}, Thinking.OPTIONAL),
        ("qwen3", {"chat_template_kwargs": {"enable_thinking": False}}, Thinking.NONE),
        ("qwen3", {"reasoning_effort": "none"}, Thinking.NONE),
        ("qwen3_6", {}, Thinking.OPEN),
        ("qwen3_6", {"reasoning_effort": "none"}, Thinking.NONE),
        ("deepseekv3", {}, Thinking.OPEN),
        ("deepseek_v31", {}, Thinking.NONE),
        ("deepseek_v31", {"chat_template_kwargs": {"thinking": True}}, Thinking.OPEN),
        ("deepseek_v31", {"reasoning_effort": "none"}, Thinking.NONE),
        ("qwen2_5", {}, Thinking.NONE),
    ],
)
def test_b056_thinking_is_what_the_rendered_prompt_says(name, fields, thinking):
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}]} | fields
    assert builder_of(name).build(parse_chat_request(body).request).thinking is thinking


def test_the_tags_of_thoughts_are_the_templates_own():
    assert builder_of("mistral_args").reply_format.thoughts == MISTRAL_THINK


def test_harmony_is_refused_by_name():
    with pytest.raises(ValueError, match="harmony channels"):
        builder_of("gptoss")


PLAIN = "{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.mark.parametrize(
    "fault",
    [
        "{% for i in range(10 ** 12) %}{% endfor %}",
        "{{ 1 // 0 }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ messages[7].content }}",
        "{{ ''.__class__.__mro__ }}",
    ],
)
def test_a_template_that_fails_on_some_messages_refuses_these_alone(fault):
    builder = prompt_builder(PLAIN + "{% if messages[0].content == 'x' %}" + fault + "{% endif %}")
    assert prompt_text(builder, [{"role": "user", "content": "y"}]) == "y"
    with pytest.raises(RequestError, match="chat template") as caught:
        prompt_text(builder, [{"role": "user", "content": "x"}])
    assert caught.value.param == "messages"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{% for %}", "its chat template is malformed: Expected an expression"),
        ("{{ messages | no_filter }}", "malformed: No filter named 'no_filter'"),
        ("{% include '/etc/hostname' %}", "its chat template has a statement 'Include'"),
        (5, "its chat template is no text"),
    ],
)
def test_a_malformed_template_is_told_when_the_model_is_loaded(source, reason):
    with pytest.raises(ValueError, match=reason):
        prompt_builder(source)


def test_a_text_that_the_tokenizers_own_expressions_cannot_read_is_refused_alone():
    document = json.loads(tokenizer_json())
    document["normalizer"] = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "x"}
    builder = PromptBuilder(chat_template(PLAIN), json.dumps(document), max_model_len=1_000)
    assert prompt_text(builder, [{"role": "user", "content": "yb"}]) == "yb"
    with pytest.raises(RequestError, match="tokenizer gave up on a text"):
        prompt_text(builder, [{"role": "user", "content": "a" * 40 + "b"}])
