"""Leaves: schemas without schemas inside, which mean the same wherever they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.schema.keywords import ENFORCED_KEYWORDS

if TYPE_CHECKING:
    from grammars.schema.document import Json

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_LONG_LIST: Final = 4_096
_BESIDE_TYPE: Final = ENFORCED_KEYWORDS - {"type"}


def leaf_key(schema: Json) -> object | None:
    """What is equal for leaves that mean the same; None for other schemas.

    `{"type": "string", "title": "a"}` and `{"type": "string"}` are one. So they are one node, are
    evaluated once, and are seen to be the same where `oneOf` or `not` compares them.
    """
    if not isinstance(schema, dict):
        return None
    parts = []
    for keyword, given in schema.items():
        if keyword not in ENFORCED_KEYWORDS:
            continue
        if isinstance(given, list) and len(given) > _LONG_LIST:
            return None  # what is compared less often than it is long
        if keyword in _REFERENCES or _holds_objects(given):
            return None
        parts.append((keyword, exact(given)))
    return "leaf", frozenset(parts)


def only_type(schema: Json) -> str | None:
    """The type of a schema that asks for one type and nothing else; None for other schemas."""
    if isinstance(schema, dict) and _BESIDE_TYPE.isdisjoint(schema):
        given = schema.get("type")
        return given if isinstance(given, str) else None
    return None


def _holds_objects(value: Json) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, (dict, list)) for item in value)
    return isinstance(value, dict)


def exact(value: Json) -> object:
    """What is equal for the same constant alone: 1, true, 1.5 and "1.5" are four."""
    match value:
        case list():
            return tuple(map(exact, value))
        case dict():
            return frozenset((key, exact(member)) for key, member in value.items())
        case bool() | None:
            return type(value), value
        case _:
            return value
