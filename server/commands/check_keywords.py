"""The keywords of a schema, each with its place and what happens to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from grammars.schema.keywords import SUPPORT, Support
from grammars.schema.resources import subschemas

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


class KeywordUse(Enum):
    """What happens to a keyword where it stands; the value is for readers."""

    ENFORCED = "enforced"
    ANNOTATION = "annotation"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class KeywordPlace:
    """A keyword in a schema.

    Args:
        pointer: JSON Pointer to the schema that has it.
        keyword: its name.
        use: what happens to it.
    """

    pointer: str
    keyword: str
    use: KeywordUse


@dataclass(frozen=True, slots=True)
class SchemaPlace:
    """A schema that is an object, and the JSON Pointer to it."""

    pointer: str
    schema: dict[str, Any]


def list_keywords(
    schema: Any,  # noqa: ANN401 - any JSON
    refused: Collection[tuple[str | None, str | None]],
) -> list[KeywordPlace]:
    """The keywords of a schema and of all schemas inside, outer ones first.

    Args:
        schema: parsed JSON.
        refused: pointers and keywords that the compiler refuses.
    """
    return [
        KeywordPlace(
            place.pointer,
            keyword,
            KeywordUse.REFUSED if (place.pointer, keyword) in refused else _use(keyword),
        )
        for place in walk_schemas(schema)
        for keyword in place.schema
    ]


def walk_schemas(schema: Any) -> Iterator[SchemaPlace]:  # noqa: ANN401
    """Every schema that is an object, outer ones first, in the order of the document."""
    pending = [("", schema)]
    while pending:
        pointer, found = pending.pop()
        if isinstance(found, dict):
            yield SchemaPlace(pointer, found)
            inner = [(child.pointer, child.schema) for child in subschemas(pointer, found)]
            pending += reversed(inner)


def _use(keyword: str) -> KeywordUse:
    support, _ = SUPPORT.get(keyword, (None, ""))
    match support:
        case Support.ENFORCED:
            return KeywordUse.ENFORCED
        case Support.ANNOTATION:
            return KeywordUse.ANNOTATION
        case Support.REFUSED:
            return KeywordUse.REFUSED
        case None:
            return KeywordUse.UNKNOWN
