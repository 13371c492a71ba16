"""Which members a schema evaluates, where its applicators say it statically.

JSON Schema Core 2020-12, section 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.schema.document import Json, Place, SchemaDocument

_PROPERTY_KEYWORDS: Final = frozenset(
    {"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "$ref"}
)
_ITEM_KEYWORDS: Final = frozenset(
    {"prefixItems", "items", "additionalItems", "contains", "unevaluatedItems", "$ref"}
)
_DYNAMIC: Final = ("anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies")


def covered_properties(
    place: Place, document: SchemaDocument
) -> tuple[dict[str, None], dict[str, None]] | None:
    """The names and patterns that the schema evaluates; None where it evaluates every property.

    Raises:
        UnsupportedError: what is evaluated depends on the instance.
    """
    names: dict[str, None] = {}
    patterns: dict[str, None] = {}
    for schema, is_outermost in _static(place, document, _PROPERTY_KEYWORDS):
        if "additionalProperties" in schema:
            return None
        if "unevaluatedProperties" in schema and not is_outermost:
            return None
        for keyword, found in (("properties", names), ("patternProperties", patterns)):
            given = schema.get(keyword)
            if isinstance(given, dict):
                found.update(dict.fromkeys(given))
    return names, patterns


def covered_items(place: Place, document: SchemaDocument) -> int | None:
    """How many first elements the schema evaluates; None where it evaluates all.

    Raises:
        UnsupportedError: what is evaluated depends on the instance.
    """
    length = 0
    for schema, is_outermost in _static(place, document, _ITEM_KEYWORDS):
        if "contains" in schema:
            raise _depends(place, "contains")
        if "unevaluatedItems" in schema and not is_outermost:
            return None
        items = schema.get("items")
        if isinstance(items, list):
            if "additionalItems" in schema:
                return None
            length = max(length, len(items))
        elif items is not None:
            return None
        prefix = schema.get("prefixItems")
        if isinstance(prefix, list):
            length = max(length, len(prefix))
    return length


def _static(
    place: Place, document: SchemaDocument, keywords: frozenset[str]
) -> Iterator[tuple[dict[str, Json], bool]]:
    """The schema, and those that its allOf and $ref always apply to the same instance."""
    pending, seen = [place], {place.pointer}
    while pending:
        current = pending.pop()
        schema = current.schema
        if not isinstance(schema, dict):
            continue
        for keyword in _DYNAMIC:
            if keyword in schema and _mentions(schema[keyword], keywords):
                raise _depends(place, keyword)
        yield schema, current is place
        following = []
        if "$ref" in schema:
            following.append(document.resolve(schema["$ref"], current.pointer))
        members = schema.get("allOf")
        if isinstance(members, list):
            following += [
                document.place(f"{current.pointer}/allOf/{index}", member)
                for index, member in enumerate(members)
            ]
        new = [target for target in following if target.pointer not in seen]
        seen.update(target.pointer for target in new)
        pending += new


def _mentions(schema: Json, keywords: frozenset[str]) -> bool:
    """Whether one of the keywords stands anywhere in it: wider than what applies."""
    pending = [schema]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            if keywords & current.keys():
                return True
            pending += current.values()
        elif isinstance(current, list):
            pending += current
    return False


def _depends(place: Place, keyword: str) -> UnsupportedError:
    kind = "unevaluatedItems" if keyword == "contains" else "unevaluated members"
    return UnsupportedError(
        f"{kind} beside {keyword!r}: which members are evaluated depends on the document; "
        "declare them beside it",
        pointer=place.pointer,
        keyword=keyword,
    )
