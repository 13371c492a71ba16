"""Leaves: schemas without schemas inside, which mean the same wherever they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.schema.keywords import SUPPORT, Support

if TYPE_CHECKING:
    from grammars.schema.document import Json

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_SHORT: Final = 256
"""Characters of a string that no budget of automata can be too small for."""


def leaf_key(schema: Json) -> object | None:
    """What is equal for leaves that mean the same; None for other schemas.

    `{"type": "string", "title": "a"}` and `{"type": "string"}` are one. So they are one node, are
    evaluated once, and are seen to be the same where `oneOf` or `not` compares them.
    """
    if not isinstance(schema, dict):
        return None
    parts = []
    for keyword, given in schema.items():
        if _annotates(keyword):
            continue
        if keyword in _REFERENCES or _holds_objects(given):
            return None
        parts.append((keyword, exact(given)))
    return "leaf", frozenset(parts)


def plain_text(schema: Json) -> str | None:
    """The string that is all a schema allows, where it is short; None for other schemas."""
    if not isinstance(schema, dict):
        return None
    text = schema.get("const")
    if not isinstance(text, str) or len(text) > _SHORT:
        return None
    others = schema.keys() - {"const"}
    is_alone = all(schema[k] == "string" if k == "type" else _annotates(k) for k in others)
    return text if is_alone else None


def _annotates(keyword: str) -> bool:
    return SUPPORT.get(keyword, (Support.ANNOTATION,))[0] is Support.ANNOTATION


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
