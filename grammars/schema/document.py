"""SchemaDocument: one JSON Schema document and the references inside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from grammars.errors import InvalidGrammarError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

Json: TypeAlias = "bool | int | Decimal | str | list[Json] | dict[str, Json] | None"
"""Parsed JSON; fractions are decimals, so that bounds are exact."""

_SCHEMA_KEYWORDS: Final = (
    "additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema",
    "else", "if", "items", "not", "oneOf", "prefixItems", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
"""Keywords that hold a schema or a list of schemas."""

_SCHEMA_MAP_KEYWORDS: Final = (
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
)  # fmt: skip
"""Keywords that hold schemas by name."""


@dataclass(frozen=True, slots=True)
class Place:
    """A subschema and where it stands.

    Args:
        pointer: its RFC 6901 pointer from the root.
        schema: the subschema itself, a dict or a bool.
    """

    pointer: str
    schema: dict[str, Json] | bool


class SchemaDocument:
    """A parsed schema document. Only references into the document itself are followed.

    Args:
        text: the schema as JSON text.

    Raises:
        InvalidGrammarError: the text is not JSON, or its root is not an object or a boolean.
    """

    def __init__(self, text: str) -> None:
        try:
            self._root: Json = json.loads(
                text, parse_float=Decimal, parse_constant=_refuse_constant
            )
        except (ValueError, RecursionError) as error:
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise InvalidGrammarError(f"the schema is not valid JSON: {reason}") from error
        self._places: dict[str, Place] = {}
        self._resources = _Resources(self._root)

    @property
    def root(self) -> Place:
        """The root schema."""
        return self.place("", self._root)

    def place(self, pointer: str, schema: Json) -> Place:
        """The subschema `schema` found at `pointer`.

        Raises:
            InvalidGrammarError: it is neither an object nor a boolean.
        """
        known = self._places.get(pointer)
        if known is not None:
            return known
        if not isinstance(schema, (dict, bool)):
            raise InvalidGrammarError(
                f"a schema must be an object or a boolean, not {_kind(schema)}", pointer=pointer
            )
        place = Place(pointer, schema)
        self._places[pointer] = place
        return place

    def resolve(self, reference: Json, pointer: str) -> Place:
        """The place that the `$ref` at `pointer` refers to (JSON Schema Core 2020-12, section 8.2).

        Raises:
            UnsupportedError: it leaves the document.
            InvalidGrammarError: it is malformed or leads nowhere.
        """
        if not isinstance(reference, str):
            raise InvalidGrammarError("$ref must be a string", pointer=pointer, keyword="$ref")
        base = self._resources.base_of(pointer)
        around = self._resources.base_of(pointer.rpartition("/")[0])
        uri, fragment = _absolute(reference, base)
        if _absolute(reference, around)[0] != uri:
            raise UnsupportedError(
                f"$ref {reference!r} beside $id is read differently by draft-07 and 2020-12; "
                "move one of them into allOf",
                pointer=pointer,
                keyword="$ref",
            )
        if uri not in self._resources.by_uri:
            raise UnsupportedError(
                f"$ref {reference!r} leaves the document; put the target under $defs",
                pointer=pointer,
                keyword="$ref",
            )
        target = self._resources.target(uri, fragment)
        found = None if target is None else self._find(target)
        if target is None or found is None:
            raise InvalidGrammarError(
                f"$ref {reference!r} leads nowhere", pointer=pointer, keyword="$ref"
            )
        return self.place(target, found[0])

    def _find(self, pointer: str) -> tuple[Json] | None:
        node = self._root
        for token in pointer.split("/")[1:]:
            found = _child(node, token.replace("~1", "/").replace("~0", "~"))
            if found is None:
                return None
            node = found[0]
        return (node,)


class _Resources:
    """The schema resources of a document: subschemas with an identifier of their own.

    Attributes:
        by_uri: absolute URI -> pointer of the resource; "" is the root without an identifier.
        anchors: (URI of the resource, anchor) -> pointer.
    """

    def __init__(self, root: Json) -> None:
        self.by_uri: dict[str, str] = {"": ""}
        self.anchors: dict[tuple[str, str], str] = {}
        self._base_of_resource: dict[str, str] = {"": ""}
        pending: list[tuple[str, str, Json]] = [("", "", root)]
        while pending:
            pointer, outer, schema = pending.pop()
            if isinstance(schema, dict):
                base = self._enter(pointer, outer, schema)
                pending += [(inner, base, child) for inner, child in _subschemas(pointer, schema)]

    def base_of(self, pointer: str) -> str:
        """The base URI at a place: that of the innermost resource around it."""
        if len(self._base_of_resource) == 1:
            return self._base_of_resource[""]
        while pointer not in self._base_of_resource:
            pointer = pointer.rpartition("/")[0]
        return self._base_of_resource[pointer]

    def target(self, uri: str, fragment: str) -> str | None:
        """The pointer of a fragment of a known resource; None for an unknown anchor."""
        if fragment and not fragment.startswith("/"):
            return self.anchors.get((uri, fragment))
        return self.by_uri[uri] + fragment

    def _enter(self, pointer: str, base: str, schema: dict[str, Json]) -> str:
        """Note the identifiers of one (possible) schema and return the base URI inside it."""
        for keyword in ("$id", "id"):
            given = schema.get(keyword)
            if not isinstance(given, str):
                continue
            uri, fragment = urldefrag(given)
            if uri:
                base = urljoin(base, uri)
                self.by_uri.setdefault(base, pointer)
                self._base_of_resource[pointer] = base
            if fragment and not fragment.startswith("/"):  # draft-07: an anchor
                self.anchors.setdefault((base, fragment), pointer)
        anchor = schema.get("$anchor")
        if isinstance(anchor, str):
            self.anchors.setdefault((base, anchor), pointer)
        return base


def _absolute(reference: str, base: str) -> tuple[str, str]:
    """The URI of the resource that a reference names under a base, and the decoded fragment."""
    uri, fragment = urldefrag(reference)
    return urljoin(base, uri) if uri else base, unquote(fragment)


def _subschemas(pointer: str, schema: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """The places directly inside a schema where another schema stands."""
    for keyword in _SCHEMA_KEYWORDS:
        child = schema.get(keyword)
        if isinstance(child, list):
            yield from ((f"{pointer}/{keyword}/{i}", item) for i, item in enumerate(child))
        elif isinstance(child, dict):
            yield f"{pointer}/{keyword}", child
    for keyword in _SCHEMA_MAP_KEYWORDS:
        named = schema.get(keyword)
        if isinstance(named, dict):
            for name, child in named.items():
                yield f"{pointer}/{keyword}/{escape(name)}", child


def escape(token: str) -> str:
    """One reference token of a JSON Pointer (RFC 6901, section 3)."""
    return token.replace("~", "~0").replace("/", "~1")


def _child(node: Json, token: str) -> tuple[Json] | None:
    match node:
        case dict():
            return (node[token],) if token in node else None
        case list() if token.isdecimal() and int(token) < len(node):
            return (node[int(token)],)
        case _:
            return None


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
