"""The schema that arguments follow, of every form in which clients declare parameters."""

from __future__ import annotations

import pytest

from server.request_errors import InvalidToolError
from server.tool_schema import argument_schema
from server.wire.tools import FunctionDefinition

NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}
CITY = {"type": "string", "description": "where"}


def schema_of(parameters: object) -> dict[str, object]:
    return argument_schema(FunctionDefinition(name="f", parameters=parameters), "tools[0]")


@pytest.mark.parametrize(
    ("parameters", "schema"),
    [
        (None, NO_ARGUMENTS),
        ({}, NO_ARGUMENTS),
        ({"type": "object", "title": "F"}, NO_ARGUMENTS | {"title": "F"}),
        ({"required": ["x"]}, {"required": ["x"]}),
        ({"minProperties": 1}, {"minProperties": 1, "type": "object"}),
        (
            {"type": ["object", "null"], "properties": {"city": CITY}},
            {"type": "object", "properties": {"city": CITY}},
        ),
        (
            [{"name": "city", **CITY, "required": True}, {"name": "days", "type": "integer"}],
            {
                "type": "object",
                "properties": {"city": CITY, "days": {"type": "integer"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_arguments_are_an_object_whatever_is_declared(parameters, schema):
    assert schema_of(parameters) == schema


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ("text", "(root): a JSON Schema of an object is needed"),
        ({"type": "array"}, "/type: arguments are an object, so it must be 'object', not 'array'"),
        ({"type": ["null"]}, "/type: arguments are an object, so it must be 'object', not"),
        ([], "(root): an empty list is no schema; leave it out"),
        ([{"type": "string"}], "/0: a parameter in a list needs a name"),
        ([{"name": "a"}, "b"], "/1: a parameter in a list needs a name"),
        ([{"name": "a"}, {"name": "a"}], "/1: two parameters are named 'a'"),
    ],
)
def test_what_cannot_be_an_object_is_refused_with_its_place(parameters, reason):
    with pytest.raises(InvalidToolError) as caught:
        schema_of(parameters)
    assert caught.value.message.startswith(f"Invalid schema for function 'f': {reason}")
    assert caught.value.param == "tools[0]"
