"""POST /v1/responses: what is refused, in the names of this API."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.chat_server import MODEL, make_services, running


def refusal(**fields: Any) -> Any:
    """The error of a request, whatever its fields are."""
    with running(make_services("ok")) as url:
        answer = httpx.post(f"{url}/v1/responses", json={"model": MODEL, "input": "hi"} | fields)
    assert answer.status_code == 400, answer.text
    return answer.json()["error"]


TOOLS: Any = [{"type": "function", "name": "f", "parameters": None}]
BAD_SCHEMA: Any = {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}


@pytest.mark.parametrize(
    ("fields", "param", "code", "message"),
    [
        (
            {"text": {"format": {"type": "json_schema", "name": "d", "schema": BAD_SCHEMA}}},
            "text.format.schema",
            "invalid_json_schema",
            "Invalid schema for text.format.schema 'd': /properties/a",
        ),
        (
            {"text": {"format": {"type": "json_schema", "name": "a b", "schema": {}}}},
            "text.format.name",
            "invalid_value",
            "text.format.name: 1 to 64",
        ),
        (
            {"tools": [{"type": "function", "name": "f", "parameters": BAD_SCHEMA}]},
            "tools[0].parameters",
            "invalid_function_parameters",
            "Invalid schema for function 'f': /properties/a",
        ),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type", "unsupported_value", "'web_search'"),
        (
            {"tools": TOOLS, "tool_choice": {"type": "function", "name": "x"}},
            "tool_choice.name",
            "invalid_value",
            "no tool is named 'x'",
        ),
        ({"background": True}, "background", "unsupported_parameter", "answers are given at once"),
        (
            {"conversation": "conv_1"},
            "conversation",
            "unsupported_parameter",
            "previous_response_id",
        ),
        ({"prompt": {"id": "p"}}, "prompt", "unsupported_parameter", "instructions"),
        ({"n": 2}, "n", "unsupported_parameter", "one answer"),
        ({"max_output_tokens": 0}, "max_output_tokens", "invalid_value", "greater than"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
            "input[0].content[0].type",
            "unsupported_value",
            "'input_image' is not supported; the served models read text alone",
        ),
        (
            {"input": [{"type": "computer_call", "call_id": "1"}]},
            "input[0].type",
            "unsupported_value",
            "'computer_call' is not supported",
        ),
        ({"input": []}, "input", "invalid_value", "input: at least 1 is needed"),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
            "tools[0].function",
            "invalid_value",
            "in this API the members of a function stand beside its type",
        ),
        (
            {"tools": [{"type": "function", "parameters": {}}]},
            "tools[0].name",
            "missing_required_parameter",
            "tools[0].name: this field is required",
        ),
        (
            {"input": [{"type": "function_call_output", "call_id": "7", "output": "x"}]},
            "input[0].call_id",
            "invalid_value",
            "no assistant message before this one has a tool call '7'",
        ),
        (
            {"input": [{"type": "function_call", "call_id": "7", "name": "f", "arguments": ""}]},
            "input",
            "invalid_value",
            "input: tool messages must answer these calls first: 7",
        ),
        (
            {"input": [{"type": "item_reference", "id": "msg_1"}]},
            "input[0].id",
            "item_not_found",
            "input[0].id: no item 'msg_1' is stored here",
        ),
        (
            {"input": "x" * 30_000},
            "input",
            "context_length_exceeded",
            "This model's maximum context length",
        ),
    ],
)
def test_a_refusal_speaks_in_the_names_of_this_api(fields, param, code, message):
    error = refusal(**fields)
    assert (error["param"], error["code"]) == (param, code)
    assert message in error["message"]
