"""A body that is wrong in thousands of places is told of the first: errors cost the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from server.errors import RequestError
from server.wire.anthropic.request import CountTokensRequest, MessagesRequest
from server.wire.base import Items, Members, WireModel
from server.wire.chat_request import ChatCompletionRequest
from server.wire.completions import CompletionRequest
from server.wire.decisions import DecisionsRequest
from server.wire.ollama.request import ChatRequest, GenerateRequest, ShowRequest
from server.wire.policy import parse_chat_request
from server.wire.responses.request import ResponsesRequest
from server.wire.tokenize import DetokenizeRequest, TokenizeRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

REQUESTS = (
    ChatCompletionRequest,
    CompletionRequest,
    ResponsesRequest,
    MessagesRequest,
    CountTokensRequest,
    DecisionsRequest,
    ChatRequest,
    GenerateRequest,
    ShowRequest,
    TokenizeRequest,
    DetokenizeRequest,
)
USER = {"role": "user", "content": "hi"}
MANY = 20_000
MOST_ERRORS = 2_000


def unbounded(schema: Any, *, in_slices: bool = False) -> Iterator[dict[str, Any]]:
    """The arrays and objects of a type, as pydantic's core sees it, that tell of all errors."""
    if isinstance(schema, list | tuple):
        for part in schema:
            yield from unbounded(part)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        holds = schema.get("items_schema" if kind == "list" else "values_schema")
        may_fail = isinstance(holds, dict) and holds["type"] != "any"
        is_bounded = schema.get("fail_fast") if kind == "list" else in_slices
        if kind in ("list", "dict") and may_fail and not is_bounded:
            yield schema
        for name, part in schema.items():
            if name not in ("cls", "metadata", "serialization"):
                yield from unbounded(part, in_slices=kind == "function-wrap")


def test_both_kinds_are_noticed():
    class Loose(WireModel):
        numbers: list[int]
        names: dict[str, str]
        anything: list[object]

    class Tight(WireModel):
        numbers: Items[int] | None
        names: Members[str] | None

    assert len(list(unbounded(Loose.__pydantic_core_schema__))) == 2
    assert list(unbounded(Tight.__pydantic_core_schema__)) == []


@pytest.mark.parametrize("request_type", REQUESTS)
def test_every_array_and_object_of_a_request_ends_with_its_first_errors(
    request_type: type[BaseModel],
):
    assert list(unbounded(request_type.__pydantic_core_schema__)) == []


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": [{}] * MANY}, "messages[0].role"),
        ({"messages": [USER | {"content": [{}] * MANY}]}, "messages[0].content[0].type"),
        ({"messages": [USER], "stop": ["a", *[1] * MANY]}, "stop[1]"),
        ({"messages": [USER], "tools": [{}] * MANY}, "tools[0].type"),
        (
            {"messages": [USER], "logit_bias": {str(n): 1000 for n in range(MANY)}},
            "logit_bias.0",
        ),
        ({"messages": [USER], "metadata": {str(n): n for n in range(MANY)}}, "metadata.0"),
    ],
)
def test_the_first_of_many_errors_is_told(fields, param):
    with pytest.raises(RequestError) as caught:
        parse_chat_request({"model": "m"} | fields)
    assert caught.value.param == param
    cause = caught.value.__cause__
    assert isinstance(cause, ValidationError)
    assert cause.error_count() <= MOST_ERRORS


def test_a_long_object_is_read_whole():
    biases = {str(number): 1.0 for number in range(2_500)}
    request = parse_chat_request({"model": "m", "messages": [USER], "logit_bias": biases}).request
    assert request.logit_bias == biases
    assert list(request.logit_bias) == list(biases)
