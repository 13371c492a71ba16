"""The sketch of a subschema: what its keywords say at once of the values it allows."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from grammars.errors import GrammarError
from grammars.schema.keywords import KIND_OF_KEYWORD
from grammars.schema.sketch import (
    ANYTHING,
    NOTHING,
    UNKNOWN,
    Sketch,
    sketch_of_constants,
    sketch_of_kinds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grammars.schema.document import Json, Place, SchemaDocument

_MAX_DEPTH: Final = 4
"""Applicators and references inside each other that are looked into."""

_KINDS_OF_TYPE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "null": ("null",),
        "boolean": ("true", "false"),
        "object": ("object",),
        "array": ("array",),
        "string": ("string",),
        "number": ("number",),
        "integer": ("number",),
    }
)

_UNCLEAR: Final = ("if", "then", "else", "oneOf")
"""Applicators of which only what they leave out might be seen; it is not looked for."""


class PlaceSketches:
    """Makes sketches of places. A malformed keyword is unknown here: it is refused elsewhere.

    Args:
        document: resolves references.
    """

    def __init__(self, document: SchemaDocument) -> None:
        self._document = document

    def of(self, place: Place, depth: int = _MAX_DEPTH) -> Sketch:
        """What is seen of the values that the schema at a place allows."""
        if isinstance(place.schema, bool):
            return ANYTHING if place.schema else NOTHING
        if depth == 0:
            return UNKNOWN
        try:
            return reduce(and_, self._parts(place, place.schema, depth), ANYTHING)
        except GrammarError:
            return UNKNOWN

    def _parts(self, place: Place, schema: dict[str, Json], depth: int) -> Iterator[Sketch]:
        """Sketches of which all hold."""
        yield _of_assertions(schema)
        for keyword in schema.keys() & _UNCLEAR:
            yield (
                UNKNOWN
                if keyword != "oneOf"
                else Sketch(NOTHING.lower, self._any(place, schema["oneOf"], "oneOf", depth).upper)
            )
        if "enum" in schema and isinstance(schema["enum"], list):
            yield sketch_of_constants(schema["enum"])
        if "const" in schema:
            yield sketch_of_constants([schema["const"]])
        for target in self._document.references(place):
            yield self.of(target, depth - 1)
        if "not" in schema:
            yield ~self._child(place, schema["not"], "not", depth)
        if "anyOf" in schema:
            yield self._any(place, schema["anyOf"], "anyOf", depth)
        if isinstance(schema.get("allOf"), list):
            yield from self._branches(place, schema["allOf"], "allOf", depth)

    def _any(self, place: Place, given: Json, keyword: str, depth: int) -> Sketch:
        return reduce(or_, self._branches(place, given, keyword, depth), NOTHING)

    def _branches(self, place: Place, given: Json, keyword: str, depth: int) -> Iterator[Sketch]:
        for index, branch in enumerate(given if isinstance(given, list) else [given]):
            yield self._child(place, branch, f"{keyword}/{index}", depth)

    def _child(self, place: Place, schema: Json, path: str, depth: int) -> Sketch:
        child = self._document.place(f"{place.pointer}/{path}", schema, place.scope)
        return self.of(child, depth - 1)


def _of_assertions(schema: dict[str, Json]) -> Sketch:
    given = schema.get("type", list(_KINDS_OF_TYPE))
    types = [str(name) for name in (given if isinstance(given, list) else [given])]
    kinds = [kind for name in types for kind in _KINDS_OF_TYPE.get(name, ())]
    restricted = {KIND_OF_KEYWORD[keyword] for keyword in schema if keyword in KIND_OF_KEYWORD}
    if "number" not in types and "type" in schema:
        restricted.add("number")
    return sketch_of_kinds(kinds, restricted)
