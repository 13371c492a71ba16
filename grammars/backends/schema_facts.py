"""Facts about one schema object that decide whether a peer can be given it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grammars.schema.document import Json


def is_open(schema: dict[str, Json], enforced: list[str]) -> bool:
    """Whether the schema leaves a value open altogether, or the values in an object or array."""
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    return (
        not enforced
        or ("object" in kinds and not {"properties", "additionalProperties"} & schema.keys())
        or ("array" in kinds and "items" not in schema)
    )


def type_says_nothing(name: str, schema: dict[str, Json]) -> bool:
    """Whether `type` beside `enum` or `const` holds for every value that they allow anyway."""
    values = schema[name] if name == "enum" else [schema[name]]
    if name not in ("enum", "const") or not isinstance(values, list):
        return False
    kind = schema["type"]
    kinds = kind if isinstance(kind, list) else [kind]
    return all(any(_has_type(value, one) for one in kinds) for value in values)


def _has_type(value: Json, kind: Json) -> bool:
    match value:
        case bool():
            return kind == "boolean"
        case None:
            return kind == "null"
        case int():
            return kind in ("integer", "number")
        case Decimal():
            return kind == "number"
        case str():
            return kind == "string"
        case list():
            return kind == "array"
        case dict():
            return kind == "object"


def has_control(value: Json) -> bool:
    r"""Whether a constant, or a key in it, holds a character that JSON writes only as \u00XX."""
    match value:
        case str():
            return any(char < " " and char not in "\b\f\n\r\t" for char in value)
        case list():
            return any(map(has_control, value))
        case dict():
            return any(has_control(part) for item in value.items() for part in item)
        case _:
            return False
