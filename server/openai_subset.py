"""openai_subset: the schemas that OpenAI's own API takes under `strict: true`, which are fewer.

With `--schema-policy openai` they alone are taken, for programs that are tried here before they ask
that API. The rules are those of OpenAI's guide to Structured Outputs: all objects closed and all
their members required, the root an object, a list of keywords, and sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from server.request_errors import InvalidResponseFormatError, InvalidToolError
from server.wire.formats import JsonSchemaFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from server.tool_choice import ToolUse
    from server.wire.chat_request import ChatCompletionRequest

_KEYWORDS: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const",
     "$ref", "$defs", "definitions", "pattern", "format", "multipleOf", "minimum", "maximum",
     "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
     "title", "description", "$schema", "$comment"}
)  # fmt: skip
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_LOOKAROUND: Final = ("(?=", "(?!", "(?<=", "(?<!")
_DEFINITIONS: Final = ("$defs", "definitions")
_MAX_LEVELS: Final = 10
_MAX_PROPERTIES: Final = 5_000
_MAX_ENUM_VALUES: Final = 1_000
_MAX_CHARS: Final = 120_000
_LARGE_ENUM: Final = 250
_MAX_LARGE_ENUM_CHARS: Final = 15_000


def check_openai_schemas(request: ChatCompletionRequest, tools: ToolUse) -> None:
    """Refuse what OpenAI's API would refuse of the schemas that ask for `strict`.

    Args:
        request: the typed body.
        tools: those of it that may be called.

    Raises:
        InvalidResponseFormatError: the response format's.
        InvalidToolError: a tool's parameters.
    """
    asked = request.response_format
    if isinstance(asked, JsonSchemaFormat) and asked.json_schema.strict:
        named = asked.json_schema
        if (reason := find_violation(named.schema_)) is not None:
            raise InvalidResponseFormatError("response_format", reason, name=named.name)
    for tool in tools.tools:
        if tool.is_strict and (reason := find_violation(tool.schema)) is not None:
            raise InvalidToolError(tool.param, tool.name, reason)


def find_violation(schema: object) -> str | None:
    """Where a schema first leaves the subset, as a pointer and what to do; None: it is inside."""
    root = schema if isinstance(schema, dict) else {}
    if root.get("type") != "object":
        return _told("", "the root must have the type 'object'")
    if "anyOf" in root:
        return _told("", "the root must not be an 'anyOf'")
    sizes = _Sizes()
    todo = [(schema, "", 1)]
    while todo:
        value, pointer, level = todo.pop()
        if not isinstance(value, dict):
            return _told(pointer, "a schema must be an object here")
        reason = _own_violation(value) or sizes.add(value, level)
        if reason is not None:
            return _told(pointer, reason)
        todo += reversed(list(_subschemas(value, pointer, level)))
    return None


def _told(pointer: str, reason: str) -> str:
    return f"{pointer or '(root)'}: {reason} under strict: true (--schema-policy openai)"


def _own_violation(schema: Mapping[str, object]) -> str | None:
    """What one schema breaks, its subschemas aside."""
    for keyword in schema:
        if keyword not in _KEYWORDS:
            return f"the keyword {keyword[:64]!r} is not permitted"
    if "$ref" in schema:
        return _reference_violation(schema)
    kinds = schema.get("type")
    if kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
        return _object_violation(schema)
    pattern, name = schema.get("pattern"), schema.get("format")
    if isinstance(pattern, str) and any(look in pattern for look in _LOOKAROUND):
        return "a 'pattern' with lookaround is not permitted"
    if isinstance(name, str) and name not in _FORMATS:
        return f"the format {name[:64]!r} is not permitted"
    return None


def _reference_violation(schema: Mapping[str, object]) -> str | None:
    if schema.keys() - {"$ref"}:
        return "'$ref' cannot have keywords beside it"
    steps = str(schema["$ref"]).split("/")
    is_inside = steps == ["#"] or (len(steps) == 3 and steps[0] == "#" and steps[1] in _DEFINITIONS)
    return None if is_inside else "'$ref' must be '#' or '#/$defs/NAME'"


def _object_violation(schema: Mapping[str, object]) -> str | None:
    if schema.get("additionalProperties") is not False:
        return "'additionalProperties' must be given, and be false,"
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return None  # malformed: the compiler says how
    missing = next((name for name in properties if name not in required), None)
    if missing is not None:
        return f"'required' must list every property: {missing[:64]!r} is missing, which is needed"
    return None


def _subschemas(
    schema: Mapping[str, object], pointer: str, level: int
) -> Iterator[tuple[object, str, int]]:
    """Those that stand in a schema, each with its pointer and the objects around it."""
    for keyword in ("properties", *_DEFINITIONS):
        members = schema.get(keyword)
        inner = level + 1 if keyword == "properties" else 1
        for name, member in members.items() if isinstance(members, dict) else ():
            step = name.replace("~", "~0").replace("/", "~1")
            yield member, f"{pointer}/{keyword}/{step}", inner
    if "items" in schema:
        yield schema["items"], f"{pointer}/items", level
    branches = schema.get("anyOf")
    for index, branch in enumerate(branches if isinstance(branches, list) else ()):
        yield branch, f"{pointer}/anyOf/{index}", level


@dataclass(slots=True)
class _Sizes:
    """Sizes of a whole schema, as it is walked."""

    num_properties: int = 0
    num_enum_values: int = 0
    num_chars: int = 0

    def add(self, schema: Mapping[str, object], level: int) -> str | None:
        """Count one schema; what is too much, if anything is."""
        properties, values = schema.get("properties"), schema.get("enum")
        names = list(properties) if isinstance(properties, dict) else []
        options = values if isinstance(values, list) else []
        texts = [value for value in [*options, schema.get("const")] if isinstance(value, str)]
        num_chars = sum(map(len, texts))
        self.num_properties += len(names)
        self.num_enum_values += len(options)
        self.num_chars += sum(map(len, names)) + num_chars
        for count, limit, what in (
            (level if names else 0, _MAX_LEVELS, "levels of objects"),
            (self.num_properties, _MAX_PROPERTIES, "properties"),
            (self.num_enum_values, _MAX_ENUM_VALUES, "values of 'enum'"),
            (self.num_chars, _MAX_CHARS, "characters of names and values"),
            (
                num_chars if len(options) > _LARGE_ENUM else 0,
                _MAX_LARGE_ENUM_CHARS,
                f"characters in an 'enum' of more than {_LARGE_ENUM} values",
            ),
        ):
            if count > limit:
                return f"more than {limit:,} {what} are not permitted"
        return None
