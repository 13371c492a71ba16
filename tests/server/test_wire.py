"""Requests are typed strictly; each refusal names its field."""

from __future__ import annotations

import pytest
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsBase,
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from server.config import ServerConfig
from server.errors import RequestError
from server.wire.chat_request import ChatCompletionRequest
from server.wire.checks import check_chat_request
from server.wire.policy import IGNORED_FIELDS, REFUSED_FIELDS, parse_chat_request

USER = {"role": "user", "content": "hi"}
BASE = {"model": "m", "messages": [USER]}
TOOL = {"type": "function", "function": {"name": "f"}}


def admit(body: dict[str, object]):
    parsed = parse_chat_request(body)
    check_chat_request(parsed.request, ServerConfig())
    return parsed


def named_tool(name: str) -> dict[str, object]:
    return {"type": "function", "function": {"name": name}}


REFUSALS = [
    ({"n": 0}, "n", "n: Input should be greater than or equal to 1"),
    ({"n": True}, "n", "n: Input should be a valid integer"),
    ({"n": "2"}, "n", "n: Input should be a valid integer"),
    ({"n": 10_000}, "n", "n: at most max_n=16 are allowed, got 10000"),
    ({"max_tokens": -1}, "max_tokens", "greater than or equal to 1"),
    ({"max_tokens": 8.5}, "max_tokens", "valid integer"),
    ({"temperature": -0.1}, "temperature", "greater than or equal to 0"),
    ({"temperature": 3}, "temperature", "less than or equal to 2"),
    ({"top_p": 2}, "top_p", "less than or equal to 1"),
    ({"presence_penalty": 1e9}, "presence_penalty", "less than or equal to 2"),
    ({"seed": 2**64}, "seed", "less than"),
    ({"seed": 10**40}, "seed", "seed"),
    ({"logit_bias": {"5": 1000}}, "logit_bias.5", "less than or equal to 100"),
    ({"logit_bias": []}, "logit_bias", "should be an object"),
    ({"stop": "a" * 2000}, "stop", "at most max_stop_string_chars=1024 characters, got 2000"),
    ({"stop": ["s"] * 17}, "stop", "at most max_stop_strings=16 are allowed, got 17"),
    ({"stop": ""}, "stop", "an empty stop string would end every answer at once"),
    ({"stop": [None]}, "stop[0]", "valid string"),
    ({"logprobs": True, "top_logprobs": 1000}, "top_logprobs", "less than or equal to 20"),
    ({"top_logprobs": 3}, "top_logprobs", "only allowed with logprobs: true"),
    ({"stream": "yes"}, "stream", "valid boolean"),
    ({"stream_options": {"include_usage": True}}, "stream_options", "only allowed with stream"),
    ({"messages": []}, "messages", "at least 1 is needed, got 0"),
    ({"messages": None}, "messages", "should be an array"),
    ({"messages": USER}, "messages", "should be an array"),
    (
        {"messages": [{"role": "user", "content": 5}]},
        "messages[0].content",
        "messages[0].content: Input should be a valid string or Input should be an array",
    ),
    ({"messages": [{"role": "user", "content": None}]}, "messages[0].content", "valid string"),
    ({"messages": [{"role": "user"}]}, "messages[0].content", "this field is required"),
    ({"messages": [{"content": "hi"}]}, "messages[0].role", "this field is required"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        "messages[0].content[0].type",
        "messages[0].content[0].type: 'image_url' is not supported; the served models read text "
        "alone",
    ),
    (
        {"messages": [{"role": "root", "content": "hi"}]},
        "messages[0].role",
        "messages[0].role: 'root' is not one of 'system', 'developer', 'user', 'assistant', 'tool'",
    ),
    ({"model": ["m"]}, "model", "valid string"),
    ({"user": "u" * 5000}, "user", "at most max_short_text_chars=4096 characters"),
    (
        {"tools": [{"type": "time_machine", "function": {"name": "f"}}]},
        "tools[0].type",
        "'time_machine' is not supported; only tools of type 'function' and 'custom' are",
    ),
    ({"tools": [TOOL, TOOL]}, "tools[1].function.name", "two tools are named 'f'"),
    ({"tools": [TOOL] * 300}, "tools", "at most max_tools=256 are allowed, got 300"),
    *[
        ({"tools": [named_tool(name)]}, "tools[0].function.name", "1 to 128 of the characters")
        for name in ("", "a b", 'a"\n', "é", "a" * 129, "<|im_end|>", "a/b", "a\n")
    ],
    ({"tool_choice": "requird"}, "tool_choice", "'none', 'auto' or 'required'"),
    pytest.param(
        {"tools": [], "tool_choice": "required"},
        "tool_choice",
        "no tools are given",
        id="B039 required without tools",
    ),
    ({"tool_choice": "required"}, "tool_choice", "no tools are given"),
    pytest.param(
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": "f"}},
        "tool_choice.function",
        "should be an object",
        id="B042 a bare name",
    ),
    (
        {"tools": [TOOL], "tool_choice": named_tool("g")},
        "tool_choice.function.name",
        "no tool is named 'g'",
    ),
    (
        {
            "tools": [TOOL],
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [named_tool("g")]},
            },
        },
        "tool_choice.allowed_tools.tools[0].function.name",
        "no tool is named 'g'",
    ),
    ({"response_format": "json"}, "response_format", "should be an object"),
    ({"response_format": {"type": "yaml"}}, "response_format.type", "one of 'text', 'json_object'"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema", "required"),
    (
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "a b/../c", "schema": {}},
            }
        },
        "response_format.json_schema.name",
        "1 to 64",
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": "{}"}}},
        "response_format.json_schema.schema",
        "should be an object",
    ),
    (
        {"response_format": {"type": "json_object"}, "guided_regex": "a"},
        "guided_regex",
        "cannot be combined with response_format",
    ),
    (
        {"structured_outputs": {"whitespace_pattern": " *"}},
        "structured_outputs.whitespace_pattern",
        "' *' is not supported; whitespace is bounded by the server; remove it",
    ),
    (
        {"modalities": ["text", "audio"]},
        "modalities[1]",
        "'audio' is not supported; the served models answer with text alone",
    ),
    (
        {"messages": "hi", "max_tokens": "x", "temperature": [], "tools": "t"},
        "messages",
        "should be an array",
    ),
]


@pytest.mark.parametrize(("fields", "param", "message"), REFUSALS)
def test_a_wrong_field_is_refused_by_its_path(fields, param, message):
    with pytest.raises(RequestError) as caught:
        admit(BASE | fields)
    assert caught.value.param == param
    assert message in caught.value.message


def test_a_missing_field_is_named():
    with pytest.raises(RequestError, match=r"^messages: this field is required$"):
        parse_chat_request({"model": "m"})


@pytest.mark.parametrize("name", REFUSED_FIELDS)
def test_a_field_that_we_may_not_ignore_is_refused_with_a_way_out(name):
    with pytest.raises(RequestError, match=f"{name}: this parameter is not supported; ") as caught:
        admit(BASE | {name: "x"})
    assert caught.value.code == "unsupported_parameter"


@pytest.mark.parametrize("nothing", [None, False, "", []])
def test_a_refused_field_that_asks_for_nothing_may_be_spelled_out(nothing):
    values: dict[str, object] = dict.fromkeys(REFUSED_FIELDS, nothing)
    parsed = admit(BASE | values)
    assert (parsed.ignored, parsed.unknown) == ((), ())


def test_top_logprobs_0_may_be_spelled_out():
    assert admit(BASE | {"top_logprobs": 0, "logprobs": False}).ignored == ()


def test_b041_null_is_absent_everywhere():
    nulls = {
        name: None for name in parse_chat_request(BASE).request.model_dump() if name not in BASE
    }
    assert admit(BASE | nulls | dict.fromkeys(REFUSED_FIELDS)).ignored == ()


def test_b040_an_empty_list_of_tools_is_taken_as_none():
    assert admit({**BASE, "tools": [], "tool_choice": "auto"}).unknown == ()


def test_fields_without_effect_and_unknown_ones_are_listed():
    values: dict[str, object] = dict.fromkeys(IGNORED_FIELDS, "low")
    values |= {"metadata": {}, "store": False, "prediction": {}, "prompt_cache_options": {}}
    parsed = admit(
        BASE | values | {"flux": 1, "messages": [USER | {"zz": 1}], "tools": [TOOL | {"q": 2}]}
    )
    assert parsed.ignored == IGNORED_FIELDS
    assert parsed.unknown == ("flux", "messages[0].zz", "tools[0].q")


def test_strict_params_refuse_unknown_fields():
    with pytest.raises(RequestError, match="flux: unknown parameter") as caught:
        parse_chat_request(BASE | {"flux": 1}, strict_params=True)
    assert caught.value.code == "unknown_parameter"


def test_names_that_python_gives_meaning_to_are_only_names():
    parsed = admit(BASE | {"__class__": "x", "__dict__": {"a": 1}, "model_config": {}})
    assert parsed.unknown == ("__class__", "__dict__", "model_config")


def test_every_parameter_of_the_openai_client_is_honoured_ignored_or_refused_by_name():
    parameters = {
        *CompletionCreateParamsNonStreaming.__annotations__,
        *CompletionCreateParamsStreaming.__annotations__,
        *CompletionCreateParamsBase.__annotations__,
    }
    known = {*ChatCompletionRequest.model_fields, *REFUSED_FIELDS}
    assert len(parameters) >= 37
    assert parameters <= known
