"""Walks of a schema document: the subschemas in force below a place; patterns rewritten."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammars.errors import UnsupportedError
from grammars.schema.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from grammars.schema.document import Place, SchemaDocument

_ONE_OR_MANY = (
    "items", "prefixItems", "allOf", "anyOf", "oneOf", "additionalItems", "additionalProperties",
    "not", "if", "contains",
)  # fmt: skip
_BY_KEY = ("properties", "patternProperties")


def children(document: SchemaDocument, place: Place) -> Iterator[Place]:
    """The subschemas that take part in validating at `place`, the target of its `$ref` included."""
    schema, pointer = place.schema, place.pointer
    if not isinstance(schema, dict):
        return
    yield from document.references(place)
    for name in _ONE_OR_MANY:
        value = schema.get(name)
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield document.place(f"{pointer}/{name}/{index}", item)
        elif name in schema:
            yield document.place(f"{pointer}/{name}", value)
    for name in _BY_KEY:
        value = schema.get(name)
        if isinstance(value, dict):
            for key, item in value.items():
                yield document.place(f"{pointer}/{name}/{escape(key)}", item)


def with_patterns(text: str, patterns: Mapping[str, str], rewrite: Callable[[str], str]) -> str:
    """The schema as JSON text, with each of its patterns replaced by `^rewrite(pattern)$`.

    Args:
        text: the schema as JSON text; `true` becomes `{}`.
        patterns: what `SchemaSupport.check` returned for it.
        rewrite: gives the regex of the whole string; its refusals get the pattern's place.
    """
    schema: Any = json.loads(text)
    for pointer, pattern in patterns.items():
        node = schema
        for token in pointer.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            node = node[int(name) if isinstance(node, list) else name]
        try:
            node["pattern"] = f"^{rewrite(pattern)}$"
        except UnsupportedError as error:
            raise UnsupportedError(error.reason, pointer=pointer, keyword="pattern") from error
    return json.dumps({} if schema is True else schema, ensure_ascii=False)
