"""Custom tools, the older functions and allowed tools: how they are asked for, shown and called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.config import ServerConfig
from tests.support.calls import spelled_call
from tests.support.chat_asking import USER, F, choice_of, post, post_constraint, prompt_of, streamed
from tests.support.chat_server import make_services

CODE: Any = {"type": "custom", "custom": {"name": "code", "description": "runs it"}}
WORD: Any = {
    "type": "custom",
    "custom": {
        "name": "word",
        "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-z]+|"}},
    },
}
LARK: Any = {
    "type": "custom",
    "custom": {
        "name": "sql",
        "format": {
            "type": "grammar",
            "grammar": {"syntax": "lark", "definition": r'start: "x" /[0-9\n"]+/ (";" start)?'},
        },
    },
}


@pytest.mark.parametrize("stream", [False, True])
def test_custom_tools_are_called_with_their_text(stream):
    """R16: the chunks, which OpenAI's stream helper cannot read but its client can."""
    text = (
        spelled_call("code", '{"input": "print(\\"é\\")\\n"}')
        + "\n"
        + spelled_call("f", '{"n": 1}')
    )
    services = make_services(text)
    if not stream:
        choice = choice_of(services, tools=[F, CODE], tool_choice="required")
        first, second = choice["message"]["tool_calls"]
        assert choice["finish_reason"] == "tool_calls"
        assert first == {
            "id": first["id"],
            "type": "custom",
            "custom": {"name": "code", "input": 'print("é")\n'},
        }
        assert (second["type"], second["function"]["arguments"]) == ("function", '{"n": 1}')
    else:
        chunks = streamed(services, tools=[F, CODE], tool_choice="required")
        pieces = [
            piece
            for chunk in chunks
            for piece in chunk["choices"][0]["delta"].get("tool_calls", [])
            if piece["index"] == 0
        ]
        assert pieces[0] == {
            "index": 0,
            "id": pieces[0]["id"],
            "type": "custom",
            "custom": {"name": "code", "input": ""},
        }
        assert all(set(piece) == {"index", "custom"} for piece in pieces[1:])
        assert "".join(piece["custom"]["input"] for piece in pieces) == 'print("é")\n'
    assert "runs it" in prompt_of(services)


def test_the_input_of_a_custom_tool_is_held_to_its_pattern():
    choice = {"type": "custom", "custom": {"name": "word"}}
    services = make_services(spelled_call("word", '{"input": "abc"}'))
    made = choice_of(services, tools=[WORD, F], tool_choice=choice)["message"]["tool_calls"]
    assert made[0]["custom"] == {"name": "word", "input": "abc"}
    constraint = post_constraint(tools=[WORD], tool_choice=choice)
    prefix = '\n{"name": "word", "arguments": {"input": "'
    assert all(constraint.accept_token(token) for token in (261, *prefix.encode()))
    assert not constraint.accept_token(ord("A"))
    assert constraint.accept_token(ord('"'))


@pytest.mark.parametrize("tool_format", ["hermes", "qwen3_coder", "llama3_json"])
def test_the_input_of_a_custom_tool_is_held_to_its_grammar(tool_format):
    config = ServerConfig(tool_format=tool_format)
    wanted = 'x1"\n;x2'
    text = {
        "hermes": spelled_call("sql", json.dumps({"input": wanted})),
        "qwen3_coder": "<tool_call>\n<function=sql>\n<parameter=input>\n"
        f"{json.dumps(wanted)}\n</parameter>\n</function>\n</tool_call>",
        "llama3_json": json.dumps({"name": "sql", "parameters": {"input": wanted}}),
    }[tool_format]
    fields: Any = {"tools": [LARK, F], "tool_choice": "required"}
    (call,) = choice_of(make_services(text, config=config), **fields)["message"]["tool_calls"]
    assert call["custom"] == {"name": "sql", "input": wanted}
    wrong = make_services(text.replace("x2", "y2"), config=config)
    assert post(wrong, **fields).status_code == 500  # the script is held to the grammar


def test_earlier_custom_calls_are_shown_as_they_were_made():
    called = {"id": "a", "type": "custom", "custom": {"name": "code", "input": "x\n"}}
    messages = [
        *USER,
        {"role": "assistant", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ]
    services = make_services("ok")
    choice_of(services, messages=messages, tools=[CODE])
    assert '{"name": "code", "arguments": {"input": "x\\n"}}' in prompt_of(services)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("auto", spelled_call("f", '{"n": 1}')),
        ({"name": "f"}, spelled_call("f", '{"n": 1}')),
        ("none", "hi"),
    ],
)
def test_the_older_functions_are_called_by_function_call(call, text, stream):
    functions = [F["function"], {"name": "g"}]
    services = make_services(text)
    if stream:
        choices = [
            c["choices"][0] for c in streamed(services, functions=functions, function_call=call)
        ]
        pieces = [c["delta"]["function_call"] for c in choices if "function_call" in c["delta"]]
        made = {
            "name": "".join(piece.get("name", "") for piece in pieces),
            "arguments": "".join(piece["arguments"] for piece in pieces),
        }
        finish = choices[-1]["finish_reason"]
        assert not any("tool_calls" in c["delta"] for c in choices)
    else:
        choice = choice_of(services, functions=functions, function_call=call)
        made = choice["message"].get("function_call", {"name": "", "arguments": ""})
        finish = choice["finish_reason"]
        assert "tool_calls" not in choice["message"]
    if call == "none":
        assert (made["name"], finish) == ("", "stop")
    else:
        assert (made, finish) == ({"name": "f", "arguments": '{"n": 1}'}, "function_call")


def test_the_older_functions_are_called_once_at_most():
    text = spelled_call("f", '{"n": 1}')
    response = post(make_services(f"{text}\n{text}"), functions=[F["function"]])
    assert response.status_code == 500  # the script is held to the grammar


def test_earlier_function_calls_are_rendered_as_calls():
    messages = [
        *USER,
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "f", "arguments": '{"n": 2}'},
        },
        {"role": "function", "name": "f", "content": "result of f"},
    ]
    services = make_services("ok")
    choice_of(services, messages=messages, functions=[F["function"]])
    assert '{"name": "f", "arguments": {"n": 2}}' in prompt_of(services)
    assert "result of f" in prompt_of(services)


def test_allowed_tools_are_shown_all_and_callable_in_part():
    allowed = {
        "type": "allowed_tools",
        "allowed_tools": {
            "mode": "required",
            "tools": [{"type": "custom", "custom": {"name": "code"}}],
        },
    }
    services = make_services(None)
    choice = choice_of(services, tools=[F, CODE], tool_choice=allowed)
    assert [call["custom"]["name"] for call in choice["message"]["tool_calls"]] == ["code"]
    assert '"name": "f"' in prompt_of(services)


def test_b037_a_required_call_streams_its_name_and_then_arguments_that_parse():
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
        "required": ["city", "unit"],
    }
    tool = {"type": "function", "function": {"name": "weather", "parameters": schema}}
    services = make_services(spelled_call("weather", '{"city": "Pâris", "unit": "c"}'))
    chunks = streamed(services, tools=[tool], tool_choice="required")
    pieces = [p for c in chunks for p in c["choices"][0]["delta"].get("tool_calls", [])]
    assert [p["function"].get("name") for p in pieces[:2]] == ["weather", None]
    arguments = "".join(p["function"]["arguments"] for p in pieces)
    assert json.loads(arguments) == {"city": "Pâris", "unit": "c"}
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
