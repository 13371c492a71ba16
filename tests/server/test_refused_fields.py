"""Fields of chat requests that cannot be honoured: each refusal says where and why."""

from __future__ import annotations

from typing import Any

import pytest

from server.config import ServerConfig
from tests.support.chat_asking import NUMBER, USER, F, error_of, post
from tests.support.chat_server import make_services
from tests.support.structural_tags import LEGACY_TAG, SEQUENCE_TAG

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
SCHEMA_OF_NO_TYPE: Any = {"type": "json_schema", "json_schema": {"type": "objekt"}}
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
            {"structured_outputs": {"structural_tag": {"format": SCHEMA_OF_NO_TYPE}}},
            "structured_outputs.structural_tag",
            None,
            "Invalid constraint for structured_outputs.structural_tag: 'type' 'objekt' is not a",
        ),
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
            {"tools": [{"type": "custom", "custom": {"name": "sql", "format": BAD_LARK}}]},
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


def test_strict_params_refuse_what_nobody_knows():
    services = make_services("ok", config=ServerConfig(strict_params=True))
    error = post(services, flux=1).json()["error"]
    assert (error["param"], error["code"]) == ("flux", "unknown_parameter")
