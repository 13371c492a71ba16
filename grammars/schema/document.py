"""SchemaDocument: one JSON Schema document and the references inside it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from grammars.errors import InvalidGrammarError, UnsupportedError
from grammars.schema.metaschemas import find_metaschema
from grammars.schema.pointers import find_at
from grammars.schema.resources import (
    RECURSIVE_ANCHOR,
    Named,
    Resources,
    absolute,
    is_plain_name,
    may_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.schema.dialects import Dialect
    from grammars.schema.resources import DynamicScope, Resource

Json: TypeAlias = "bool | int | Decimal | str | list[Json] | dict[str, Json] | None"
"""Parsed JSON; fractions are decimals, so that bounds are exact."""


class Place(NamedTuple):
    """A subschema, where it stands, and what dynamic references mean in it.

    Args:
        pointer: its RFC 6901 pointer from the root; in a metaschema, with its URI in front.
        schema: the subschema itself, a dict or a bool; a `$ref` alone where the dialect says that
            what stands beside it is ignored.
        scope: the dynamic scope of the way that led here.
    """

    pointer: str
    schema: dict[str, Json] | bool
    scope: DynamicScope = ()


class SchemaDocument:
    """A parsed schema document. References are followed inside it, and into the metaschemas.

    Args:
        text: the schema as JSON text.
        knows_metaschemas: whether the metaschemas of the drafts are known documents.

    Raises:
        InvalidGrammarError: the text is not JSON, or its root is not an object or a boolean.
    """

    def __init__(self, text: str, *, knows_metaschemas: bool = True) -> None:
        try:
            self._root: Json = _DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise InvalidGrammarError(f"the schema is not valid JSON: {reason}") from error
        self._resources = Resources(
            self._root,
            find_metaschema if knows_metaschemas else (lambda _: None),
            has_names=may_name(text),
        )

    @property
    def root(self) -> Place:
        """The root schema."""
        return self.place("", self._root)

    def place(self, pointer: str, schema: Json, scope: DynamicScope = ()) -> Place:
        """The subschema `schema` found at `pointer`.

        Args:
            pointer: where it stands.
            schema: what stands there.
            scope: the dynamic scope of the place that leads to it.

        Raises:
            InvalidGrammarError: it is neither an object nor a boolean.
        """
        if not isinstance(schema, (dict, bool)):
            raise InvalidGrammarError(
                f"a schema must be an object or a boolean, not {_kind(schema)}", pointer=pointer
            )
        if (
            isinstance(schema, dict)
            and "$ref" in schema
            and self.dialect_at(pointer).ref_hides_siblings
        ):
            schema = {"$ref": schema["$ref"]}
        return Place(pointer, schema, self._resources.enter(scope, pointer))

    def references(self, place: Place) -> Iterator[Place]:
        """The places that the references of a schema lead to: they apply to the same instance.

        Raises:
            UnsupportedError: one leaves the document.
            InvalidGrammarError: one is malformed or leads nowhere.
        """
        if isinstance(place.schema, dict):
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                if keyword in place.schema:
                    target = self._target(keyword, place.schema[keyword], place)
                    yield self.place(target.pointer, target.schema, place.scope)

    def dialect_at(self, pointer: str) -> Dialect:
        """How the schema at a pointer is read."""
        return self._resources.around(pointer).dialect

    def _target(self, keyword: str, reference: Json, place: Place) -> Named:
        if not isinstance(reference, str):
            raise InvalidGrammarError(
                f"{keyword} must be a string", pointer=place.pointer, keyword=keyword
            )
        uri, fragment = absolute(reference, self._resources.around(place.pointer).uri)
        resource = self._resources.find(uri)
        if resource is None:
            raise UnsupportedError(
                f"{keyword} {reference!r} leaves the document; put the target under $defs",
                pointer=place.pointer,
                keyword=keyword,
            )
        found = _static_target(resource, fragment)
        if found is None:
            raise InvalidGrammarError(
                f"{keyword} {reference!r} leads nowhere", pointer=place.pointer, keyword=keyword
            )
        anchor = RECURSIVE_ANCHOR if keyword == "$recursiveRef" else fragment
        if keyword == "$ref" or resource.dynamic_anchors.get(anchor) is not found:
            return found
        return self._dynamic_target(anchor, found, place)

    def _dynamic_target(self, anchor: str, found: Named, place: Place) -> Named:
        """The outermost schema with a dynamic anchor on the way to a place, else the one found.

        JSON Schema Core 2020-12, section 8.2.3.2; 2019-09, section 8.2.4.2.2.
        """
        if not self._resources.is_tracked(anchor):
            raise UnsupportedError(
                "a dynamic reference under a keyword that holds no schemas; put it under $defs",
                pointer=place.pointer,
            )
        pointer = dict(place.scope).get(anchor)
        if pointer is None:
            return found
        return self._resources.around(pointer).dynamic_anchors[anchor]


def _static_target(resource: Resource, fragment: str) -> Named | None:
    """The schema that a fragment of a resource means; None where it means none."""
    if is_plain_name(fragment):
        return resource.anchors.get(fragment)
    if not fragment:
        return resource.root
    found = find_at(resource.root.schema, fragment)
    return None if found is None else Named(resource.root.pointer + fragment, found[0])


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "a number"


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON (RFC 8259, section 6)")


_DECODER: Final = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse_constant)
