"""Every list and object of every request has a limit with a name, which its refusal tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from server.config import ServerConfig
from tests.server.test_wire_bounds import REQUESTS
from tests.support.chat_server import MODEL, make_services, running
from tests.support.fresh_http import HTTP

if TYPE_CHECKING:
    from collections.abc import Iterator

CHAT, COMPLETIONS, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
MESSAGES, COUNT, DECISIONS = "/v1/messages", "/v1/messages/count_tokens", "/v1/decisions"
OLLAMA_CHAT, OLLAMA_GENERATE = "/api/chat", "/api/generate"

SAID = {"role": "user", "content": "hi"}
TURNS = [SAID, {"role": "assistant", "content": "yo"}, SAID]
LEAST: dict[str, dict[str, Any]] = {
    CHAT: {"messages": [SAID]},
    COMPLETIONS: {"prompt": "a"},
    RESPONSES: {"input": "a"},
    MESSAGES: {"messages": [SAID], "max_tokens": 1},
    COUNT: {"messages": [SAID]},
    DECISIONS: {"input": "a", "questions": [{"type": "predicate", "instructions": "a?"}]},
    OLLAMA_CHAT: {"messages": [SAID]},
    OLLAMA_GENERATE: {"prompt": "a"},
    "/tokenize": {"prompt": "a"},
    "/detokenize": {"tokens": [1]},
}
"""What a body of each endpoint needs beside its model."""

SCHEMA = {"type": "object", "properties": {"a": {"enum": ["a" * 100]}}}
NAMES = ("a", "b", "c")
FUNCTIONS = [{"name": name} for name in NAMES]
TOOLS = [{"type": "function", "function": function} for function in FUNCTIONS]
FLAT_TOOLS = [{"type": "function"} | function for function in FUNCTIONS]
ALLOWED = {"type": "allowed_tools", "mode": "auto"}
CLAUDES_TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in NAMES]
TAGS = [{"begin": f"<{name}", "schema": True, "end": ">"} for name in NAMES]
FORMAT = {
    "type": "or",
    "elements": [{"type": "const_string", "value": name} for name in NAMES],
}


def structural(**fields: Any) -> dict[str, Any]:
    return {"response_format": {"type": "structural_tag"} | fields}


def anthropic_schema() -> dict[str, Any]:
    return {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}


SHARED: dict[str, tuple[Any, str]] = {
    "stop": (list(NAMES), "max_stop_strings"),
    "stop_token_ids": ([1, 2, 3], "max_stop_token_ids"),
    "logit_bias": ({"1": 1, "2": 1, "3": 1}, "max_logit_bias"),
    "guided_choice": (list(NAMES), "max_choices"),
    "guided_json": (SCHEMA, "max_schema_chars"),
    "json_schema": (SCHEMA, "max_schema_chars"),
}
"""Fields of all endpoints that generate by sampling: too much, and the setting that says so."""

COUNTED: dict[str, tuple[str, dict[str, Any], str]] = {
    f"{request}.{name}": (path, {name: value}, setting)
    for request, path in (
        ("ChatCompletionRequest", CHAT),
        ("CompletionRequest", COMPLETIONS),
        ("ResponsesRequest", RESPONSES),
    )
    for name, (value, setting) in SHARED.items()
} | {
    "StructuredOutputs.json_": (CHAT, {"structured_outputs": {"json": SCHEMA}}, "max_schema_chars"),
    "StructuredOutputs.choice": (CHAT, {"structured_outputs": {"choice": NAMES}}, "max_choices"),
    "StructuredOutputs.structural_tag": (
        CHAT,
        {"structured_outputs": {"structural_tag": {"format": FORMAT}}},
        "max_tags",
    ),
    "ChatCompletionRequest.messages": (CHAT, {"messages": TURNS}, "max_messages"),
    "ChatCompletionRequest.tools": (CHAT, {"tools": TOOLS}, "max_tools"),
    "ChatCompletionRequest.functions": (CHAT, {"functions": FUNCTIONS}, "max_tools"),
    "AllowedTools.tools": (
        CHAT,
        {
            "tools": TOOLS[:1],
            "tool_choice": ALLOWED
            | {
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "a"}}] * 3,
                }
            },
        },
        "max_tools",
    ),
    "StructuralTagFormat.format": (CHAT, structural(format=FORMAT), "max_tags"),
    "StructuralTagFormat.structures": (
        CHAT,
        structural(structures=TAGS, triggers=["<"]),
        "max_tags",
    ),
    "StructuralTagFormat.triggers": (
        CHAT,
        structural(structures=TAGS[:1], triggers=["<", "<a"]),
        "max_tags",
    ),
    "NamedSchema.schema_": (
        CHAT,
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "a", "schema": SCHEMA},
            }
        },
        "max_schema_chars",
    ),
    "JsonObjectFormat.schema_": (
        CHAT,
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        "max_schema_chars",
    ),
    "CompletionRequest.prompt": (COMPLETIONS, {"prompt": NAMES}, "max_completions"),
    "ResponsesRequest.input": (RESPONSES, {"input": [SAID] * 3}, "max_messages"),
    "ResponsesRequest.tools": (RESPONSES, {"tools": FLAT_TOOLS}, "max_tools"),
    "FlatAllowedChoice.tools": (
        RESPONSES,
        {
            "tools": FLAT_TOOLS[:1],
            "tool_choice": ALLOWED | {"tools": [{"type": "function", "name": "a"}] * 3},
        },
        "max_tools",
    ),
    "FlatJsonSchemaFormat.schema_": (
        RESPONSES,
        {"text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}}},
        "max_schema_chars",
    ),
    "MessagesRequest.messages": (MESSAGES, {"messages": TURNS}, "max_messages"),
    "MessagesRequest.tools": (MESSAGES, {"tools": CLAUDES_TOOLS}, "max_tools"),
    "MessagesRequest.stop_sequences": (
        MESSAGES,
        {"stop_sequences": list(NAMES)},
        "max_stop_strings",
    ),
    "ToolDefinition.input_schema": (
        MESSAGES,
        {"tools": [{"name": "a", "input_schema": SCHEMA}]},
        "max_schema_chars",
    ),
    "JsonFormat.schema_": (MESSAGES, anthropic_schema(), "max_schema_chars"),
    "CountTokensRequest.messages": (COUNT, {"messages": TURNS}, "max_messages"),
    "CountTokensRequest.tools": (COUNT, {"tools": CLAUDES_TOOLS}, "max_tools"),
    "ChatRequest.messages": (OLLAMA_CHAT, {"messages": TURNS}, "max_messages"),
    "ChatRequest.tools": (OLLAMA_CHAT, {"tools": TOOLS}, "max_tools"),
    "ChatRequest.format": (OLLAMA_CHAT, {"format": SCHEMA}, "max_schema_chars"),
    "GenerateRequest.format": (OLLAMA_GENERATE, {"format": SCHEMA}, "max_schema_chars"),
    "Options.stop": (OLLAMA_CHAT, {"options": {"stop": NAMES}}, "max_stop_strings"),
}
"""By the field of a type: an endpoint, fields that are too much, and the setting that says so."""

PLAIN = {
    *(f"{name}Message.content" for name in ("System", "User", "Assistant", "Tool", "Function")),
    *("AssistantMessage.tool_calls", "AssistantMessage.annotations"),
    *("ChatCompletionRequest.chat_template_kwargs", "ChatCompletionRequest.modalities"),
    *("ChatCompletionRequest.metadata", "ChatCompletionRequest.prompt_cache_options"),
    "ChatCompletionRequest.prediction",
    *("ReasoningItem.summary", "ReasoningItem.content", "CustomOutputItem.output"),
    *("InputJson.data", "InputText.annotations", "InputText.logprobs"),
    *("InputText.prompt_cache_breakpoint", "FunctionOutputItem.output", "MessageItem.content"),
    *("ResponsesRequest.metadata", "ResponsesRequest.include"),
    *("ResponsesRequest.chat_template_kwargs", "ResponsesRequest.prompt_cache_options"),
    *("BlockMessage.content", "ToolResultBlock.content", "SearchResultBlock.content"),
    *("TextContent.content", "ToolUseBlock.input", "MessagesRequest.system"),
    "CountTokensRequest.system",
    *("DecisionsRequest.input", "DecisionsRequest.prompt_cache_options"),
    *(f"{kind}Question.instructions" for kind in ("Score", "Choice", "Predicate")),
    *("GivenMessage.images", "GivenMessage.tool_calls", "DetokenizeRequest.tokens"),
}
"""Fields whose cost only grows with their size: max_json_values and max_body_bytes bound them."""

BY_TYPE = {"DecisionsRequest.questions", "ScoreQuestion.levels", "ChoiceQuestion.choices"}
"""Bounded by the type itself, as the API has it; see `test_decisions_api`."""


def lists_of(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[str]:
    """The fields of a type, and of all types in it, that hold an array or object of any size."""
    seen.add(model)
    for name, field in model.model_fields.items():
        is_list = False
        waiting: list[Any] = [field.annotation]
        while waiting:
            part = waiting.pop()
            kind = get_origin(part) or part
            is_list |= kind in (list, dict)
            if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in seen:
                yield from lists_of(kind, seen)
            waiting += get_args(part)
        if is_list:
            yield f"{model.__name__}.{name}"


def test_every_list_of_every_request_is_in_one_of_the_tables():
    seen: set[type[BaseModel]] = set()
    found = {name for request in REQUESTS for name in lists_of(request, seen)}
    assert found == COUNTED.keys() | PLAIN | BY_TYPE


SMALL = ServerConfig(
    max_schema_chars=99,
    max_stop_strings=2,
    max_stop_token_ids=2,
    max_logit_bias=2,
    max_choices=2,
    max_messages=2,
    max_tools=2,
    max_completions=2,
    max_tags=2,
)


@pytest.fixture(scope="module")
def small():
    with running(make_services(None, config=SMALL)) as url:
        yield url


@pytest.mark.parametrize("name", COUNTED)
def test_a_list_that_is_too_long_is_refused_with_the_name_of_its_limit(name, small):
    path, fields, setting = COUNTED[name]
    answer = HTTP.post(f"{small}{path}", json={"model": MODEL} | LEAST[path] | fields)
    assert answer.status_code == 400
    assert f"{setting}={getattr(SMALL, setting)}" in answer.text


@pytest.fixture(scope="module")
def few_values():
    with running(make_services(None, config=ServerConfig(max_json_values=500))) as url:
        yield url


@pytest.mark.parametrize("path", LEAST)
def test_no_body_has_more_values_than_allowed_in_all_its_lists_together(path, few_values):
    body = {"model": MODEL} | LEAST[path] | {"anything": [1] * 500}
    answer = HTTP.post(f"{few_values}{path}", json=body)
    assert answer.status_code == 400
    assert "has more than max_json_values=500 values" in answer.text
