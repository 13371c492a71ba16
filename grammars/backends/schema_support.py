"""SchemaSupport: the part of JSON Schema that a peer enforces; the rest is refused by name."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from grammars.backends.schema_facts import has_control, is_open, type_says_nothing
from grammars.backends.schema_walk import children
from grammars.errors import InvalidGrammarError, UnsatisfiableError, UnsupportedError
from grammars.schema.document import Json, Place, SchemaDocument
from grammars.schema.keywords import SUPPORT, Support

if TYPE_CHECKING:
    from collections.abc import Mapping

BY_TYPE: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("properties", "required", "additionalProperties"), ("object",)),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems"), ("array",)),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), ("string",)),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), ("integer", "number")
    ),
}
"""Keywords and the types of values that they restrict, for `SchemaSupport.typed`."""

_NEUTRAL: Final = frozenset(
    {"$defs", "definitions", "then", "else", "minContains", "maxContains", "uniqueItems"}
)
"""Keywords that restrict nothing where they stand alone, or (uniqueItems) are false."""

_COUNTS: Final = frozenset({"minItems", "maxItems", "minLength", "maxLength"})
_LITERALS: Final = frozenset({"enum", "const", "properties", "required"})


@dataclass(frozen=True, slots=True)
class SchemaSupport:
    r"""What a peer declares to enforce; whatever is not named is refused before it sees the schema.

    Args:
        backend: the peer's name, for messages.
        keywords: enforced keywords, whatever stands beside them except as said below.
        alone: keywords enforced only where no other enforced keyword stands beside them; a `type`
            that their constants have anyway may.
        conflicts: keywords that must not meet in one schema object: one of them would be lost.
        formats: values of `format` that are enforced.
        typed: keyword -> the types one of which must be named beside it; the peer would otherwise
            lose the keyword, or the values of other types.
        closed_objects: an object with `properties` or `required` must declare every required key,
            have `additionalProperties` false, and use keys that JSON writes without escapes. The
            peer would otherwise lose a key, or take a declared key in an escaped spelling as an
            additional one.
        control_characters: whether keys and constants may hold what JSON writes only as \u00XX.
        any_values: whether a value may be left open: `true`, `{}`, or an object or array whose
            values have no schema.
        recursion: whether a schema may refer to itself.
    """

    backend: str
    keywords: frozenset[str]
    alone: frozenset[str] = frozenset()
    conflicts: tuple[tuple[str, str], ...] = ()
    formats: frozenset[str] = frozenset()
    typed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    closed_objects: bool = False
    control_characters: bool = True
    any_values: bool = True
    recursion: bool = True

    def check(self, text: str) -> dict[str, str]:
        """Refuse the schema unless everything in it is declared.

        Returns:
            Pointer of the schema object -> its `pattern`, for every pattern that is in force.

        Raises:
            UnsupportedError: names the first keyword that would not be enforced, and its place.
            InvalidGrammarError: the schema is not JSON, or a reference leads nowhere.
            UnsatisfiableError: the schema is `false`.
        """
        document = SchemaDocument(text, knows_metaschemas=False)
        if document.root.schema is False:
            raise UnsatisfiableError("no document is valid under the schema false")
        places = self._places(document)
        for place in places:
            self._check_place(place)
        return {
            place.pointer: str(place.schema["pattern"])
            for place in places
            if isinstance(place.schema, dict) and "pattern" in place.schema
        }

    def _places(self, document: SchemaDocument) -> list[Place]:
        """All subschemas in force, parents first."""
        found: dict[str, Place] = {}
        finished: set[str] = set()
        # A place comes up twice: before its children, and (True) after them.
        pending = [(document.root, False)]
        while pending:
            place, is_done = pending.pop()
            if is_done:
                finished.add(place.pointer)
            elif place.pointer not in found:
                found[place.pointer] = place
                pending.append((place, True))
                pending += [(child, False) for child in reversed(list(children(document, place)))]
            elif place.pointer not in finished and not self.recursion:
                raise self._refusal("a recursive schema", place, "$ref")
        return list(found.values())

    def _check_place(self, place: Place) -> None:
        schema = place.schema
        if not isinstance(schema, dict):
            closes = schema is False and place.pointer.endswith(("/additionalProperties", "/items"))
            if not self.any_values and not closes:
                raise self._refusal("a boolean schema", place, None)
            return
        enforced = [name for name in schema if _restricts(name, schema[name])]
        if not self.any_values and is_open(schema, enforced):
            raise self._refusal("a value without a schema", place, None)
        for name in enforced:
            self._check_keyword(name, place, schema, enforced)
        for first, second in self.conflicts:
            if first in enforced and second in enforced:
                raise self._refusal(f"{first!r} together with {second!r}", place, second)
        if self.closed_objects and ("properties" in enforced or "required" in enforced):
            self._check_object(place, schema)

    def _check_keyword(
        self, name: str, place: Place, schema: dict[str, Json], enforced: list[str]
    ) -> None:
        if name == "format":
            if schema[name] not in self.formats:
                raise self._refusal(f"format {schema[name]!r}", place, name)
        elif name not in self.keywords and name not in self.alone:
            raise self._refusal(f"keyword {name!r}", place, name)
        if name == "$ref" and not str(schema[name]).startswith("#/") and schema[name] != "#":
            raise self._refusal(f"$ref {schema[name]!r}, which is no JSON Pointer,", place, name)
        if name in _COUNTS and not isinstance(schema[name], int):
            raise InvalidGrammarError(
                f"{name} must be written as a whole number", pointer=place.pointer, keyword=name
            )
        if not self.control_characters and name in _LITERALS and has_control(schema[name]):
            raise self._refusal("a control character in a key or constant", place, name)
        types = self.typed.get(name)
        if types and schema.get("type") not in types:
            raise self._refusal(f"{name!r} without 'type' {' or '.join(types)}", place, name)
        if name in self.alone:
            others = [other for other in enforced if other != name]
            if others and not (others == ["type"] and type_says_nothing(name, schema)):
                raise self._refusal(f"{name!r} together with {others[0]!r}", place, name)

    def _check_object(self, place: Place, schema: dict[str, Json]) -> None:
        declared = schema.get("properties", {})
        required = schema.get("required", [])
        if not isinstance(declared, dict) or not isinstance(required, list):
            raise InvalidGrammarError(
                "properties must be an object and required an array", pointer=place.pointer
            )
        for key in required:
            if key not in declared:
                raise self._refusal(f"the undeclared key {key!r}", place, "required")
        for key in declared:
            if json.dumps(key, ensure_ascii=False) != f'"{key}"':
                raise self._refusal(f"the key {key!r}, which needs escapes,", place, "properties")
        if schema.get("additionalProperties") is not False:
            raise self._refusal(
                "'properties' without 'additionalProperties' false", place, "additionalProperties"
            )

    def _refusal(self, what: str, place: Place, keyword: str | None) -> UnsupportedError:
        return UnsupportedError(
            f"{what} is not enforced by the {self.backend} backend; use the tightrope backend",
            pointer=place.pointer,
            keyword=keyword,
        )


def _restricts(name: str, value: object) -> bool:
    if name == "uniqueItems":
        return value is not False
    support = SUPPORT.get(name)
    return support is not None and support[0] is not Support.ANNOTATION and name not in _NEUTRAL
