"""The JSON Schema of a tool's arguments, whatever form a client gives its parameters in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.errors import InvalidToolError

if TYPE_CHECKING:
    from server.wire.tools import FunctionDefinition

_NO_ARGUMENTS: dict[str, object] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}
_ANNOTATIONS = frozenset(
    {"type", "properties", "required", "title", "description", "$schema", "examples", "default"}
)


def argument_schema(function: FunctionDefinition, index: int) -> dict[str, object]:
    """The schema that the arguments must follow: always of an object, key order kept.

    Missing, null and empty parameters, and an object without properties that says no more, take
    `{}` alone. A list of `{name, type, description, required}` is read as properties.

    Args:
        function: the tool's function.
        index: its place in `tools`, for the error.

    Raises:
        InvalidToolError: the parameters cannot be those of an object.
    """
    parameters = function.parameters
    if isinstance(parameters, list):
        parameters = _schema_of_list(parameters, function.name, index)
    if parameters is None:
        return _NO_ARGUMENTS
    if not isinstance(parameters, dict):
        raise InvalidToolError(index, function.name, "(root): a JSON Schema of an object is needed")
    kind = parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise InvalidToolError(
            index,
            function.name,
            f"/type: arguments are an object, so it must be 'object', not {kind!r}",
        )
    if not parameters.get("properties") and parameters.keys() <= _ANNOTATIONS:
        return {**parameters, **_NO_ARGUMENTS} if not parameters.get("required") else parameters
    return {**parameters, "type": "object"}


def _schema_of_list(parameters: list[object], name: str, index: int) -> dict[str, object]:
    if not parameters:
        raise InvalidToolError(index, name, "(root): an empty list is no schema; leave it out")
    properties: dict[str, object] = {}
    required: list[str] = []
    for place, parameter in enumerate(parameters):
        if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
            raise InvalidToolError(index, name, f"/{place}: a parameter in a list needs a name")
        key = parameter["name"]
        if key in properties:
            raise InvalidToolError(index, name, f"/{place}: two parameters are named {key!r}")
        properties[key] = {k: v for k, v in parameter.items() if k not in ("name", "required")}
        if parameter.get("required") is True:
            required.append(key)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
