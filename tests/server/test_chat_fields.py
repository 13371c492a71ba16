"""Fields of chat requests beside the common ones: each is honoured, or refused by name."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from engine.errors import InvalidRequestError
from server.config import ServerConfig, hash_api_key
from tests.support.calls import spelled_call
from tests.support.chat_server import (
    MODEL,
    OPEN_THINKING_TEMPLATE,
    THINKING_TEMPLATE,
    make_services,
    running,
)

USER: Any = [{"role": "user", "content": "hi"}]
NUMBER: Any = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
F: Any = {"type": "function", "function": {"name": "f", "parameters": NUMBER}}
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
BAD_LARK: Any = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: nowhere"}}


DEEP_TAG = (
    '{"format": '
    + '{"type": "sequence", "elements": [' * 200
    + '{"type": "any_text"}'
    + "]}" * 200
    + "}"
)
STYLED_TAG: Any = {
    "type": "structural_tag",
    "format": {"type": "json_schema", "json_schema": {"type": "integer"}, "style": "xml"},
}
UNSURE_TAG: Any = {
    "type": "triggered_tags",
    "triggers": ["<a"],
    "tags": [{"begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}],
    "stop_after_first": "no",
}


def regex_tool(pattern: str) -> dict[str, Any]:
    grammar = {"type": "grammar", "grammar": {"syntax": "regex", "definition": pattern}}
    return {"type": "custom", "custom": {"name": "word", "format": grammar}}


def with_required(names: object) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": "f", "parameters": NUMBER | {"required": names}},
    }


def post(services, **fields: object) -> httpx.Response:
    body = {"model": MODEL, "messages": USER} | fields
    with running(services) as url:
        return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)


def choice_of(services, **fields: object) -> Any:
    response = post(services, **fields)
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


def streamed(services, **fields: object) -> list[Any]:
    """The chunks of a stream."""
    response = post(services, stream=True, **fields)
    events = [block.removeprefix("data: ") for block in response.text.strip().split("\n\n")]
    assert events[-1] == "[DONE]"
    return [json.loads(event) for event in events[:-1]]


def error_of(**fields: object) -> Any:
    """The error of a request that is refused before anything is generated."""
    services = make_services("ok")
    response = post(services, **fields)
    assert response.status_code == 400, response.text
    assert services.engine.requests == []
    return response.json()["error"]


def prompt_of(services) -> str:
    (request,) = services.engine.requests
    return bytes(token for token in request.prompt_token_ids if token < 256).decode()


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


def post_constraint(**fields: object) -> Any:
    """The matcher that a request's grammar begins with."""
    services = make_services("x", pause_after=0)
    body = {"model": MODEL, "messages": USER, "stream": True} | fields
    with (
        running(services) as url,
        httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=60) as response,
    ):
        assert response.status_code == 200
    return services.engine.requests[0].constraint


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


LEGACY_TAG = {
    "type": "structural_tag",
    "structures": [{"begin": "<f=a>", "schema": NUMBER, "end": "</f>"}],
    "triggers": ["<f="],
}
SEQUENCE_TAG = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": "<t>", "content": {"type": "any_text"}, "end": "</t>"},
            {
                "type": "or",
                "elements": [
                    {"type": "const_string", "value": "yes"},
                    {"type": "regex", "pattern": "[0-9]{2}"},
                ],
            },
            {
                "type": "tags_with_separator",
                "tags": [
                    {
                        "type": "tag",
                        "begin": "[",
                        "content": {"type": "json_schema", "json_schema": {"type": "boolean"}},
                        "end": "]",
                    }
                ],
                "separator": ";",
            },
        ],
    },
}
TRIGGERED_TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<f"],
        "tags": [
            {"begin": "<f1>", "content": {"type": "const_string", "value": "x"}, "end": "</f1>"},
            {"begin": "<f2>", "content": {"type": "any_text"}, "end": "</f2>"},
        ],
        "stop_after_first": True,
    },
}


@pytest.mark.parametrize(
    ("tag", "accepted", "refused"),
    [
        (LEGACY_TAG, ["hi", 'a <f=a>{"n": 1}</f> b', "<f"], ["<f=b>", '<f=a>{"n": "x"}</f>']),
        (SEQUENCE_TAG, ["<t>hm</t>yes", "<t></t>12[true];[false]"], ["yes", "<t>hm</t>no"]),
        (TRIGGERED_TAG, ["hi", "a<f1>x</f1>b", "<f2> < </f2>"], ["<f3>", "<f1>x</f1><f2>"]),
    ],
)
@pytest.mark.parametrize("field", ["response_format", "structured_outputs", "as text"])
def test_structural_tags_bind_what_stands_in_them(tag, accepted, refused, field):
    fields: Any = {
        "response_format": {"response_format": tag},
        "structured_outputs": {"structured_outputs": {"structural_tag": tag}},
        "as text": {"structured_outputs": {"structural_tag": json.dumps(tag)}},
    }[field]
    for text in accepted if field == "response_format" else accepted[:1]:
        assert choice_of(make_services(text), **fields)["message"]["content"] == text
    for text in refused if field == "response_format" else refused[:1]:
        assert post(make_services(text), **fields).status_code == 500  # the script is held to it


@pytest.mark.parametrize(
    "fields",
    [
        {"grammar": 'root ::= "a" [0-9]+'},
        {"guided_grammar": 'root ::= "a" [0-9]+'},
        {"structured_outputs": {"grammar": 'start: "a" /[0-9]+/'}},
        {"response_format": {"type": "grammar", "grammar": 'start: "a" /[0-9]+/'}},
        {"response_format": {"type": "regex", "pattern": "a[0-9]+"}},
        {"json_schema": {"const": "a12"}},
    ],
)
def test_grammars_of_every_kind_bind_the_text(fields):
    text = '"a12"' if "json_schema" in fields else "a12"
    services = make_services(text)
    assert choice_of(services, **fields)["message"]["content"] == text
    assert services.engine.requests[0].constraint is not None


@pytest.mark.parametrize(
    ("fields", "param", "code", "message"),
    [
        ({"tools": [F], "functions": [F["function"]]}, "tools", "invalid_value", "functions"),
        ({"function_call": {"name": "f"}}, "function_call.name", "invalid_value", "no function"),
        (
            {"functions": [{"name": "f"}, {"name": "f"}]},
            "functions[1].name",
            "invalid_value",
            "two tools are named 'f'",
        ),
        (
            {"functions": [{"name": "f", "parameters": {"type": "objekt"}}]},
            "functions[0].parameters",
            "invalid_function_parameters",
            "arguments are an object",
        ),
        (
            {"tools": [F], "tool_choice": {"type": "custom", "custom": {"name": "f"}}},
            "tool_choice.custom.name",
            "invalid_value",
            "no tool is named 'f'",
        ),
        (
            {"tools": [{"type": "custom", "custom": {"name": "x", "format": {"type": "json"}}}]},
            "tools[0].custom.format.type",
            "invalid_value",
            "'json' is not one of",
        ),
        ({"grammar": "root ::= ("}, "grammar", None, "Invalid grammar for grammar: "),
        ({"grammar": "root ::= nowhere"}, "grammar", None, "nowhere"),
        ({"structured_outputs": {"grammar": ""}}, "structured_outputs.grammar", None, ""),
        (
            {"grammar": 'root ::= "a"', "json_schema": {}},
            "json_schema",
            "invalid_value",
            "cannot be combined with grammar",
        ),
        (
            {"tools": [regex_tool("a)|(b")], "tool_choice": "required"},
            "tools[0].custom.format",
            "invalid_function_parameters",
            "Invalid pattern for custom tool 'word': the pattern is malformed at offset 1: "
            "')' closes no group",
        ),
        (
            {"tools": [with_required([["n"]])]},
            "tools[0].function.parameters",
            "invalid_function_parameters",
            "'required' must be an array of strings",
        ),
        (
            {"guided_json": '{"type": "string", "type": "integer"}'},
            "guided_json",
            "invalid_value",
            "guided_json: the text has an object with the key 'type' twice",
        ),
        (
            {"structured_outputs": {"structural_tag": DEEP_TAG}},
            "structured_outputs.structural_tag",
            "invalid_value",
            "the text nests arrays and objects deeper than max_json_depth=128",
        ),
        (
            {"structured_outputs": {"structural_tag": SEQUENCE_TAG | {"type": "tag"}}},
            "structured_outputs.structural_tag.type",
            "invalid_value",
            "'structural_tag' is needed",
        ),
        (
            {"response_format": STYLED_TAG},
            "response_format.format.style",
            "unsupported_parameter",
            "this parameter is not supported; it may be one of type, json_schema",
        ),
        (
            {"response_format": LEGACY_TAG | {"format": {"type": "any_text"}}},
            "response_format.structures",
            "unsupported_parameter",
            "it may be one of type, format",
        ),
        (
            {"response_format": {"type": "structural_tag", "format": UNSURE_TAG}},
            "response_format.format.stop_after_first",
            "invalid_value",
            "true or false is needed",
        ),
        (
            {"structured_outputs": {"structural_tag": "{"}},
            "structured_outputs.structural_tag",
            "invalid_value",
            "the text is not JSON",
        ),
        (
            {"response_format": {"type": "structural_tag", "format": {"type": "magic"}}},
            "response_format.format.type",
            "unsupported_value",
            "'magic' is not supported; use one of const_string, ",
        ),
        (
            {"response_format": {"type": "structural_tag", "format": {"type": "regex"}}},
            "response_format.format.pattern",
            "missing_required_parameter",
            "required",
        ),
        (
            {"response_format": LEGACY_TAG | {"triggers": ["<g="]}},
            "response_format.triggers",
            "invalid_value",
            "no trigger begins the tag '<f=a>'",
        ),
        (
            {"tools": [LARK | {"custom": LARK["custom"] | {"format": BAD_LARK}}]},
            "tools[0].custom.format",
            "invalid_function_parameters",
            "Invalid grammar for custom tool 'sql': ",
        ),
        ({"on_length": "grow"}, "on_length", "invalid_value", "'cut' or 'close'"),
        (
            {"continue_final_message": True},
            "continue_final_message",
            "invalid_value",
            "the last message must be the assistant's",
        ),
        (
            {
                "continue_final_message": True,
                "messages": [*USER, {"role": "assistant", "content": "I"}],
                "tools": [F],
                "json_schema": {},
            },
            "continue_final_message",
            "invalid_value",
            "a constraint holds for whole answers",
        ),
        (
            {"messages": [*USER, {"role": "function", "name": "f", "content": "1"}]},
            "messages[1].name",
            "invalid_value",
            "no assistant message just before this one calls 'f'",
        ),
        (
            {"messages": [*USER, {"role": "assistant", "tool_calls": [{"id": "a"}]}]},
            "messages[1].tool_calls[0].function",
            "missing_required_parameter",
            "required",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(fields, param, code, message):
    error = error_of(**fields)
    assert (error["param"], error["code"]) == (param, code)
    assert message in error["message"]


@pytest.mark.parametrize(("pattern", "status"), [("a)|(b", 400), ("a|b", 200)])
def test_a_pattern_beside_bare_calls_is_one_by_itself(pattern, status):
    """It stands in brackets there, which `a)|(b` would close and open again."""
    services = make_services("b", config=ServerConfig(tool_format="json"))
    fields = {"tools": [F], "response_format": {"type": "regex", "pattern": pattern}}
    response = post(services, **fields)
    assert response.status_code == status
    if status == 400:
        assert response.json()["error"]["message"] == (
            "Invalid pattern for response_format: the pattern is malformed at offset 1: "
            "')' closes no group"
        )


GRAMMAR = 'root ::= "a" root | "b"'


@pytest.mark.parametrize(
    ("template", "text", "fields"),
    [
        (OPEN_THINKING_TEMPLATE, "hm</think>\n\naab", {}),
        (THINKING_TEMPLATE, "<think>hm</think>\n\naab", {}),
        (THINKING_TEMPLATE, "aab", {}),
        (THINKING_TEMPLATE, "aab", {"tools": [F]}),
        (THINKING_TEMPLATE, spelled_call("f", '{"n": 1}'), {"tools": [F]}),
    ],
)
def test_a_grammar_holds_behind_thoughts_and_beside_calls(template, text, fields):
    message = choice_of(make_services(text, template=template), grammar=GRAMMAR, **fields)[
        "message"
    ]
    assert message["content"] == (None if "tool_call" in text else "aab")
    assert post(make_services(text + "c", template=template), grammar=GRAMMAR).status_code == 500


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


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"guided_regex": r"\{.*\}"}, '{"name": "g", "parameters": {"x": 1}}'),
        ({"response_format": {"type": "json_object"}}, '{"name": "g", "parameters": {"x": 1}}'),
        ({"guided_choice": ["a", '{"name": "g", "parameters": {"x": 1}}']}, None),
        ({"grammar": GRAMMAR}, None),
        ({"response_format": LEGACY_TAG}, None),
    ],
)
def test_a_text_that_would_be_read_as_a_bare_call_is_left_out_or_refused(fields, text):
    config = ServerConfig(tool_format="llama3_json")
    tools = [{"type": "function", "function": {"name": "g"}}]
    response = post(make_services(text or "ok", config=config), tools=tools, **fields)
    if text is None:
        assert response.status_code == 400
        assert "could not be told from such a text" in response.json()["error"]["message"]
        return
    assert response.status_code == 500  # the script is held to the grammar
    other = make_services('{"other": 1}', config=config)
    assert choice_of(other, tools=tools, **fields)["message"]["content"] == '{"other": 1}'


def test_a_message_can_be_continued():
    messages = [*USER, {"role": "assistant", "content": "Once upon"}]
    services = make_services(" a time", template=THINKING_TEMPLATE)
    fields = {"continue_final_message": True, "add_generation_prompt": False}
    assert choice_of(services, messages=messages, **fields)["message"]["content"] == " a time"
    assert prompt_of(services).endswith("assistant\nOnce upon")
    services = make_services("ok")
    choice_of(services, messages=messages, add_generation_prompt=False)
    assert prompt_of(services).endswith("Once upon\n")


def test_a_json_object_may_have_a_schema():
    services = make_services(None)
    choice = choice_of(services, response_format={"type": "json_object", "schema": NUMBER})
    assert json.loads(choice["message"]["content"]).keys() == {"n"}
    error = error_of(response_format={"type": "json_object", "schema": {"type": "nothing"}})
    assert error["param"] == "response_format"
    assert "type" in error["message"]


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


def test_one_key_is_one_caller_whatever_else_is_sent():
    config = ServerConfig(api_key_hashes=(hash_api_key("a"), hash_api_key("b")))
    services = make_services("ok", config=config)
    with running(services) as url, httpx.Client(base_url=url, timeout=60) as http:
        for headers in (
            [("authorization", "Bearer a")],
            [("authorization", "bearer  a")],
            [("authorization", "Bearer a"), ("x-api-key", "made up")],
            [("authorization", "Bearer made up"), ("authorization", "Bearer a")],
            [("x-api-key", "a")],
            [("x-api-key", "b")],
        ):
            body = {"model": MODEL, "messages": USER}
            answer = http.post("/v1/chat/completions", json=body, headers=headers)
            assert answer.status_code == 200, headers
    *of_a, of_b = (request.cache_salt for request in services.engine.requests)
    assert len(of_a) == 5
    assert len(set(of_a)) == 1
    assert of_b not in of_a


def test_callers_with_different_keys_share_no_cached_prompts():
    services = make_services("ok")
    with running(services) as url:
        for key in ("Bearer a", "Bearer b", "Bearer a"):
            body = {"model": MODEL, "messages": USER}
            headers = {"authorization": key}
            httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=60)
    first, second, third = (request.cache_salt for request in services.engine.requests)
    assert first == third != second


def test_closing_is_named_as_ignored_where_text_is_free():
    response = post(make_services("ok"), on_length="close")
    assert response.headers["x-tightrope-ignored"] == "on_length"
    response = post(make_services('{"n": 1}'), on_length="close", json_schema=NUMBER)
    assert "x-tightrope-ignored" not in response.headers


def test_strict_params_refuse_what_nobody_knows():
    services = make_services("ok", config=ServerConfig(strict_params=True))
    error = post(services, flux=1).json()["error"]
    assert (error["param"], error["code"]) == ("flux", "unknown_parameter")


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_an_effort_is_honoured_or_named_as_ignored(effort):
    response = post(make_services("ok", template=THINKING_TEMPLATE), reasoning_effort=effort)
    ignored = response.headers.get("x-tightrope-ignored")
    assert ignored == (None if effort == "none" else "reasoning_effort")
