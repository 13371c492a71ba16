"""The subset of schemas that OpenAI's own API takes under `strict: true`."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from server.config import ServerConfig
from server.openai_subset import find_violation
from tests.support.chat_server import MODEL, make_services, running


def closed(**properties: Any) -> dict[str, Any]:
    """An object as the subset wants it."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def nested(levels: int) -> dict[str, Any]:
    return closed(a={"type": "null"} if levels == 1 else nested(levels - 1))


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        closed(),
        closed(a=TEXT, b={"type": ["integer", "null"], "minimum": 0, "multipleOf": 5}),
        closed(a={"type": "array", "items": closed(b=TEXT), "minItems": 1, "maxItems": 3}),
        closed(a={"anyOf": [TEXT, {"type": "null"}]}, b={"enum": ["x", 1]}, c={"const": None}),
        closed(a={"type": "string", "pattern": "^a+$"}, b={"type": "string", "format": "uuid"}),
        closed(a={"$ref": "#/$defs/n"}, b={"$ref": "#"}) | {"$defs": {"n": closed(c=TEXT)}},
        closed(a=TEXT | {"title": "A", "description": "d"}) | {"$schema": "x"},
        nested(10),
        closed(a={"enum": ["x" * 60 + str(i) for i in range(250)]}),
    ],
)
def test_the_subset_is_taken(schema):
    assert find_violation(schema) is None


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "array", "items": TEXT}, "(root): the root must have the type 'object'"),
        (True, "(root): the root must have the type 'object'"),
        (closed() | {"anyOf": [closed()]}, "(root): the root must not be an 'anyOf'"),
        ({"type": "object"}, "(root): 'additionalProperties' must be given, and be false,"),
        (
            closed(a=closed(b=TEXT) | {"additionalProperties": True}),
            "/properties/a: 'additionalProperties' must be given",
        ),
        (
            closed(a=closed(b=TEXT, c=TEXT) | {"required": ["b"]}),
            "/properties/a: 'required' must list every property: 'c' is missing",
        ),
        (closed(**{"a/~": {"default": 1}}), "/properties/a~1~0: the keyword 'default' is not"),
        (closed(a=TEXT | {"minLength": 1}), "/properties/a: the keyword 'minLength' is not"),
        (closed(a={"oneOf": [TEXT]}), "/properties/a: the keyword 'oneOf' is not permitted"),
        (closed(a={"anyOf": [TEXT, {"not": {}}]}), "/properties/a/anyOf/1: the keyword 'not'"),
        (closed(a={"type": "array", "items": False}), "/properties/a/items: a schema must be an"),
        (closed(a={"$ref": "#/$defs/n", "title": "N"}), "'$ref' cannot have keywords beside it"),
        (closed(a={"$ref": "#/properties/b"}), "/properties/a: '$ref' must be '#' or '#/$defs/NA"),
        (closed(a={"type": "string", "pattern": "(?!x)a"}), "a 'pattern' with lookaround is not"),
        (closed(a={"type": "string", "format": "uri"}), "the format 'uri' is not permitted"),
        (closed() | {"$defs": {"n": {"type": "object"}}}, "/$defs/n: 'additionalProperties' must"),
        (nested(11), "more than 10 levels of objects are not permitted"),
        (closed(**{f"p{i}": TEXT for i in range(5001)}), "more than 5,000 properties are not"),
        (closed(a={"enum": list(range(1001))}), "more than 1,000 values of 'enum' are not"),
        (closed(a={"const": "x" * 120_000}), "more than 120,000 characters of names and values"),
        (
            closed(a={"enum": ["x" * 60 + str(i) for i in range(251)]}),
            "more than 15,000 characters in an 'enum' of more than 250 values are not permitted",
        ),
    ],
)
def test_what_lies_outside_is_refused_with_its_place(schema, message):
    violation = find_violation(schema)
    assert violation is not None
    assert message in violation
    assert violation.endswith(" under strict: true (--schema-policy openai)")


def test_what_openais_client_makes_of_classes_lies_inside():
    openai = pytest.importorskip("openai")

    class Step(BaseModel):
        text: str
        number: int | None

    class Plan(BaseModel):
        steps: list[Step]
        kind: str

    asked = openai.lib._parsing._completions.type_to_response_format_param(Plan)
    assert find_violation(asked["json_schema"]["schema"]) is None


OPEN = {"type": "object", "properties": {"a": TEXT}}
REASON = "(root): 'additionalProperties' must be given, and be false, under strict: true"


@pytest.mark.parametrize(
    ("path", "fields", "param", "message"),
    [
        (
            "/v1/chat/completions",
            {
                "messages": [{"role": "user", "content": "hi"}],
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "d", "schema": OPEN, "strict": True},
                },
            },
            "response_format",
            f"Invalid schema for response_format 'd': {REASON}",
        ),
        (
            "/v1/chat/completions",
            {
                "messages": [{"role": "user", "content": "hi"}],
                "tools": [
                    {
                        "type": "function",
                        "function": {"name": "f", "parameters": OPEN, "strict": True},
                    }
                ],
            },
            "tools[0].function.parameters",
            f"Invalid schema for function 'f': {REASON}",
        ),
        (
            "/v1/responses",
            {
                "input": "hi",
                "text": {
                    "format": {"type": "json_schema", "name": "d", "schema": OPEN, "strict": True}
                },
            },
            "text.format.schema",
            f"Invalid schema for text.format.schema 'd': {REASON}",
        ),
    ],
)
def test_the_policy_refuses_by_the_path_of_the_request(path, fields, param, message):
    config = ServerConfig(schema_policy="openai")
    with running(make_services(None, config=config)) as url:
        refused = httpx.post(f"{url}{path}", json={"model": MODEL} | fields, timeout=60)
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == param
    assert refused.json()["error"]["message"].startswith(message)


@pytest.mark.parametrize(
    ("policy", "strict"), [("openai", False), ("openai", None), ("exact", True)]
)
def test_other_schemas_are_taken(policy, strict):
    named = {"name": "d", "schema": OPEN, "strict": strict}
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "hi"}],
        "response_format": {"type": "json_schema", "json_schema": named},
    }
    with running(make_services("{}", config=ServerConfig(schema_policy=policy))) as url:
        answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)
    assert answer.json()["choices"][0]["message"]["content"] == "{}"


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="schema_policy: 'open' is unknown; use one of exact, op"):
        ServerConfig(schema_policy="open")  # type: ignore[arg-type]  # what is tested
