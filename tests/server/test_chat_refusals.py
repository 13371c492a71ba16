"""POST /v1/chat/completions: what is refused, in which words, before anything is sent."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from tests.support.chat_server import (
    CONTROLS,
    MODEL,
    PLAIN_TEMPLATE,
    ScriptedServices,
    make_services,
    running,
)

USER: Any = [{"role": "user", "content": "hi"}]
TOOLS: Any = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]


def named(schema: object) -> dict[str, Any]:
    """A response format."""
    return {"type": "json_schema", "json_schema": {"name": "d", "schema": schema}}


def ask(*texts: str, services: ScriptedServices | None = None, **fields: Any) -> Any:
    """One request to a server whose model writes the texts."""
    services = services or make_services(*texts)
    with (
        running(services) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        answer = client.chat.completions.create(**({"model": MODEL, "messages": USER} | fields))
        return list(answer) if fields.get("stream") else answer


@pytest.mark.parametrize(
    ("fields", "param", "code", "message"),
    [
        ({"model": "gpt-4"}, "model", "model_not_found", "The model 'gpt-4' is not served here"),
        ({"logit_bias": {"999999": 1}}, "logit_bias", "invalid_value", "999999 is not a token id"),
        ({"logit_bias": {"-1": 1}}, "logit_bias", "invalid_value", "'-1' is not a token id"),
        ({"logit_bias": {"hello": 1}}, "logit_bias", "invalid_value", "'hello' is not a token id"),
        ({"extra_body": {"stop_token_ids": [999999]}}, "stop_token_ids", "invalid_value", "999999"),
        (
            {"max_tokens": 3, "extra_body": {"min_tokens": 4}},
            "min_tokens",
            "invalid_value",
            "4 is more",
        ),
        (
            {"messages": [{"role": "user", "content": "x" * 30_000}]},
            "messages",
            "context_length_exceeded",
            "maximum context length is 20000 tokens",
        ),
        (
            {"response_format": named({"type": "objekt"})},
            "response_format",
            None,
            "Invalid schema for response_format 'd': (root): 'type' 'objekt'",
        ),
        (
            {
                "response_format": named(
                    {"type": "object", "properties": {"a": {"type": "string", "pattern": "[a-"}}}
                )
            },
            "response_format",
            None,
            "Invalid schema for response_format 'd': /properties/a: ",
        ),
        (
            {
                "tools": [
                    *TOOLS,
                    {
                        "type": "function",
                        "function": {
                            "name": "bad",
                            "parameters": {
                                "type": "object",
                                "properties": {"a": {"type": "objekt"}},
                            },
                        },
                    },
                ]
            },
            "tools[2].function.parameters",
            "invalid_function_parameters",
            "Invalid schema for function 'bad': /properties/a: 'type' 'objekt'",
        ),
        (
            {
                "tools": [
                    {
                        "type": "function",
                        "function": {"name": "f", "parameters": {"type": "string"}},
                    }
                ]
            },
            "tools[0].function.parameters",
            "invalid_function_parameters",
            "arguments are an object",
        ),
        (
            {"extra_body": {"structured_outputs": {"choice": []}}},
            "structured_outputs.choice",
            "invalid_value",
            "at least 1 option",
        ),
        (
            {"extra_body": {"structured_outputs": {"json_object": False}}},
            "structured_outputs.json_object",
            "unsupported_value",
            "false asks for nothing",
        ),
        (
            {"extra_body": {"structured_outputs": {}}},
            "structured_outputs",
            "invalid_value",
            "exactly one",
        ),
        (
            {"extra_body": {"guided_json": ""}},
            "guided_json",
            "invalid_value",
            "the text is not JSON",
        ),
        (
            {"extra_body": {"guided_regex": "("}},
            "guided_regex",
            None,
            "Invalid pattern for guided_regex: the pattern is malformed at offset 0: ",
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_b062_b064_refusals_name_the_field_first(fields, param, code, message, stream):
    """And the server goes on."""
    services = make_services("ok")
    with pytest.raises(openai.APIStatusError) as caught:
        ask(services=services, stream=stream, **fields)
    error: Any = caught.value.body
    assert (error["param"], error["code"]) == (param, code)
    assert message in error["message"]
    assert error["type"] == "invalid_request_error"
    assert caught.value.response.headers["x-request-id"].startswith("req_")
    assert ask(services=services).choices[0].message.content == "ok"


def test_names_of_tools_are_as_short_as_openai_wants_them():
    def tool(name):
        return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}

    assert ask("ok", tools=[tool("f" * 64)]).choices[0].message.content == "ok"
    with pytest.raises(openai.BadRequestError, match="1 to 64 of the characters") as caught:
        ask("ok", tools=[tool("f" * 65)])
    assert caught.value.param == "tools[0].function.name"


def test_constraints_that_are_each_right_but_cannot_be_told_apart_are_refused_together():
    services = make_services("<a", template=PLAIN_TEMPLATE, controls=CONTROLS[:2])
    fields: Any = {"tools": TOOLS, "extra_body": {"grammar": 'root ::= "<" [a-z]+'}}
    with pytest.raises(openai.BadRequestError) as caught:
        ask(services=services, **fields)
    error: Any = caught.value.body
    assert (error["param"], error["message"]) == (
        "tools",
        "The constraints cannot be combined: parts of the structure cannot be told apart as they "
        "are written; put a tag between them",
    )
