"""CallableTool: one tool that an answer may call."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grammars.spec import Cfg, Regex

CUSTOM_INPUT = "input"
"""The one argument of a custom tool: the model writes its free text as this JSON string."""

_SAYS_NO_MORE: Final = frozenset(
    {"type", "properties", "required", "$defs", "definitions", "$schema", "$comment", "title",
     "description", "default", "examples", "deprecated"}
)  # fmt: skip
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


class ToolKind(Enum):
    """What the caller declared, and gets its calls as."""

    FUNCTION = "function"  # arguments are a JSON object
    CUSTOM = "custom"  # the input is a text


@dataclass(frozen=True, slots=True)
class CallableTool:
    """A tool, and what its arguments must be.

    Args:
        name: unique among the tools of a request.
        schema: JSON Schema of the arguments object, as the model is shown it; of a custom tool, of
            `{"input": "..."}`.
        description: what the model is told of it.
        kind: what the caller declared.
        input_grammar: of a custom tool: what its input may be, as content of a JSON string.
        input_pattern: of a custom tool: the same as a pattern, which the schema has in brackets.
        param: path of the schema in the request, for errors.
        is_strict: whether it asks for `strict`; calls are bound to the schema in any case.
    """

    name: str
    schema: Mapping[str, object]
    description: str | None = None
    kind: ToolKind = ToolKind.FUNCTION
    input_grammar: Cfg | None = None
    input_pattern: Regex | None = None
    param: str = "tools"
    is_strict: bool = False

    @property
    def bound_schema(self) -> Mapping[str, object]:
        """What arguments are held to: the schema, or what it declares and no more (decision 0026).

        A schema that lists properties and says nothing of others would let the model make up
        arguments that the function does not have.
        """
        schema = self.schema
        properties, required = schema.get("properties"), schema.get("required", [])
        if not (isinstance(properties, dict) and isinstance(required, list)):
            return schema  # malformed: the compiler says how
        if not all(isinstance(name, str) for name in required):
            return schema  # malformed too
        if not (properties and schema.keys() <= _SAYS_NO_MORE and set(required) <= set(properties)):
            return schema
        if any(not reference.startswith("#/") for reference in _references(schema)):
            return schema  # the whole may stand inside itself, also under a `not`
        return {**schema, "additionalProperties": False}


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (value[key] for key in _REFERENCES if isinstance(value.get(key), str))
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _references(inner)
