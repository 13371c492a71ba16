"""Resources: the schemas of a document that have identifiers, and what each of them is called."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from grammars.schema.dialects import MIXED, Dialect, find_dialect
from grammars.schema.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.schema.document import Json

DynamicScope: TypeAlias = "tuple[tuple[str, str], ...]"
"""Which schema each dynamic anchor means on the way to a place: (anchor, pointer), sorted.

The whole list of resources entered is more than `$dynamicRef` can see: it wants the outermost one
that has the anchor. So only this is kept, and only of anchors that some `$dynamicRef` names: the
scopes of a schema are few, and those of a schema without `$dynamicRef` are empty.
"""

RECURSIVE_ANCHOR: Final = ""
"""The anchor that `$recursiveAnchor` of 2019-09 gives; no other one is empty."""

SCHEMA_KEYWORDS: Final = (
    "additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema",
    "else", "if", "items", "not", "oneOf", "prefixItems", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
"""Keywords that hold a schema or a list of schemas."""

SCHEMA_MAP_KEYWORDS: Final = (
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
)  # fmt: skip
"""Keywords that hold schemas by name."""

_HOLDS_BY_NAME: Final = MappingProxyType(
    dict.fromkeys(SCHEMA_KEYWORDS, False) | dict.fromkeys(SCHEMA_MAP_KEYWORDS, True)
)
"""Keyword that holds schemas -> whether it holds them by name."""

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

_NAMING_KEYWORDS: Final = frozenset(
    ("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", *_REFERENCES)
)
"""Keywords without which a schema is neither named nor refers to anything."""

_NAMING_KEYS: Final = tuple(f'"{keyword}"' for keyword in sorted(_NAMING_KEYWORDS - {"$schema"}))
"""One of them is a key in the text of a document in which a schema may be named or refer to one."""

_MOST_SPACE: Final = 64
"""Characters between a key and its colon; behind so many blanks a colon is taken for granted."""


@dataclass(frozen=True, slots=True)
class Named:
    """A schema and the pointer of the place where it stands."""

    pointer: str
    schema: Json


@dataclass(slots=True)
class Resource:
    """A schema with an identifier of its own, or the root of the document.

    Args:
        uri: its absolute URI; "" is the root without an identifier.
        root: the schema itself.
        dialect: how its references are read.
        anchors: the schemas that its plain-name fragments mean.
        dynamic_anchors: of these, the ones that are dynamic; RECURSIVE_ANCHOR is among them where
            the resource has it.
    """

    uri: str
    root: Named
    dialect: Dialect
    anchors: dict[str, Named] = field(default_factory=dict)
    dynamic_anchors: dict[str, Named] = field(default_factory=dict)


class Resources:
    """All resources of a document and of the metaschemas that it refers to.

    Args:
        root: the schema document.
        find_document: another document by its URI; None where there is none.
        has_names: whether a schema inside may have an identifier or refer to one, see `may_name`.
    """

    def __init__(
        self, root: Json, find_document: Callable[[str], Json], *, has_names: bool = True
    ) -> None:
        self._by_uri: dict[str, Resource] = {}
        self._by_pointer: dict[str, Resource] = {}  # and of every place that was asked for
        self._dynamic_names: set[str] = set()
        referred = self._add("", Named("", root), is_deep=has_names)
        while referred:
            uri = referred.pop()
            if uri not in self._by_uri:
                document = find_document(uri)
                if document is not None:
                    referred += self._add(uri, Named(f"{uri}#", document))
        self._is_one = len(self._by_pointer) == 1

    def around(self, pointer: str) -> Resource:
        """The innermost resource around a place."""
        if self._is_one:
            return self._by_pointer[""]
        path = []
        while pointer not in self._by_pointer:
            path.append(pointer)
            pointer = pointer.rpartition("/")[0]
        found = self._by_pointer[pointer]
        self._by_pointer.update(dict.fromkeys(path, found))
        return found

    def find(self, uri: str) -> Resource | None:
        """The resource of an absolute URI without a fragment; None for one that is not here."""
        return self._by_uri.get(uri)

    def enter(self, scope: DynamicScope, pointer: str) -> DynamicScope:
        """The dynamic scope at a place that was reached from a place of another one."""
        if not self._dynamic_names:
            return scope
        known = dict(scope)
        for name, target in self.around(pointer).dynamic_anchors.items():
            if self.is_tracked(name):
                known.setdefault(name, target.pointer)
        return tuple(sorted(known.items()))

    def is_tracked(self, anchor: str) -> bool:
        """Whether scopes know what a dynamic anchor means."""
        return anchor in self._dynamic_names

    def _add(self, uri: str, root: Named, *, is_deep: bool = True) -> list[str]:
        """Note all resources of one document; the URIs that its references name."""
        referred: list[str] = []
        outermost = Resource(uri, root, MIXED)
        self._by_uri[uri] = self._by_pointer[root.pointer] = outermost
        pending: list[tuple[str, Json, Resource]] = [(root.pointer, root.schema, outermost)]
        while pending:  # over every schema of a document, so it is written to be fast
            pointer, schema, resource = pending.pop()
            if not isinstance(schema, dict):
                continue
            if not _NAMING_KEYWORDS.isdisjoint(schema):
                place = root if schema is root.schema else Named(pointer, schema)
                resource = self._enter(place, schema, resource)
                referred += self._references(schema, resource)
            if not is_deep:
                break
            for keyword, child in schema.items():
                is_by_name = _HOLDS_BY_NAME.get(keyword)
                if is_by_name is None:
                    continue
                if isinstance(child, dict):
                    if is_by_name:
                        pending += [
                            (f"{pointer}/{keyword}/{escape(name)}", item, resource)
                            for name, item in child.items()
                        ]
                    else:
                        pending.append((f"{pointer}/{keyword}", child, resource))
                elif isinstance(child, list) and not is_by_name:
                    pending += [
                        (f"{pointer}/{keyword}/{i}", item, resource) for i, item in enumerate(child)
                    ]
        return referred

    def _enter(self, place: Named, schema: dict[str, Json], outer: Resource) -> Resource:
        """Note the identifiers of one schema; the resource that it is of."""
        resource = outer
        if place is outer.root:
            outer.dialect = find_dialect(schema.get("$schema")) or outer.dialect
        dialect = find_dialect(schema.get("$schema")) or outer.dialect
        if dialect.ref_hides_siblings and "$ref" in schema:
            return outer
        for keyword in dialect.identifiers:
            given = schema.get(keyword)
            if isinstance(given, str):
                uri, fragment = urldefrag(given)
                if uri:
                    resource = self._name(urljoin(outer.uri, uri), place, dialect, outer)
                if is_plain_name(fragment):  # draft-07: an anchor
                    resource.anchors.setdefault(fragment, place)
                break
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(keyword)
            if isinstance(anchor, str):
                resource.anchors.setdefault(anchor, place)
                if keyword == "$dynamicAnchor":
                    resource.dynamic_anchors.setdefault(anchor, place)
        if schema.get("$recursiveAnchor") is True and place is resource.root:
            resource.dynamic_anchors[RECURSIVE_ANCHOR] = place
        return resource

    def _name(self, uri: str, place: Named, dialect: Dialect, outer: Resource) -> Resource:
        """The resource that a schema begins; the root of a document keeps its first name too."""
        if place is outer.root:
            outer.uri = uri
            return self._by_uri.setdefault(uri, outer)
        resource = Resource(uri, place, dialect)
        self._by_uri.setdefault(uri, resource)
        self._by_pointer[place.pointer] = resource
        return resource

    def _references(self, schema: dict[str, Json], resource: Resource) -> Iterator[str]:
        for keyword in _REFERENCES:
            reference = schema.get(keyword)
            if isinstance(reference, str):
                uri, fragment = absolute(reference, resource.uri)
                if uri not in self._by_uri:
                    yield uri
                if keyword == "$recursiveRef":
                    self._dynamic_names.add(RECURSIVE_ANCHOR)
                elif keyword == "$dynamicRef" and is_plain_name(fragment):
                    self._dynamic_names.add(fragment)


def may_name(text: str) -> bool:
    """Whether a schema in a JSON text may have an identifier or refer to one: a quick look."""
    return "\\u" in text or any(_may_be_key(key, text) for key in _NAMING_KEYS)


def _may_be_key(quoted: str, text: str) -> bool:
    """A search for a plain text: of 4 MiB it is a millisecond in which no other thread runs."""
    found = text.find(quoted)
    while found >= 0:
        end = found + len(quoted)
        if text[end : end + _MOST_SPACE].lstrip()[:1] in ("", ":"):
            return True
        found = text.find(quoted, end)
    return False


def is_plain_name(fragment: str) -> bool:
    """Whether a fragment is the name of an anchor, not a JSON Pointer."""
    return bool(fragment) and not fragment.startswith("/")


def absolute(reference: str, base: str) -> tuple[str, str]:
    """The URI of the resource that a reference names under a base, and the decoded fragment."""
    if reference.startswith("#") and reference.isprintable():
        return base, unquote(reference[1:])  # as below; most references are such
    uri, fragment = urldefrag(reference)
    return urljoin(base, uri) if uri else base, unquote(fragment)


def subschemas(pointer: str, schema: dict[str, Json]) -> Iterator[Named]:
    """The places directly inside a schema where another schema stands; booleans are left out."""
    for keyword in SCHEMA_KEYWORDS:
        child = schema.get(keyword)
        if isinstance(child, list):
            yield from (Named(f"{pointer}/{keyword}/{i}", item) for i, item in enumerate(child))
        elif isinstance(child, dict):
            yield Named(f"{pointer}/{keyword}", child)
    for keyword in SCHEMA_MAP_KEYWORDS:
        named = schema.get(keyword)
        if isinstance(named, dict):
            for name, child in named.items():
                yield Named(f"{pointer}/{keyword}/{escape(name)}", child)
