"""SchemaDocument: one JSON Schema document and the references inside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias
from urllib.parse import unquote

from grammars.errors import InvalidGrammarError, UnsupportedError

Json: TypeAlias = "bool | int | Decimal | str | list[Json] | dict[str, Json] | None"
"""Parsed JSON; fractions are decimals, so that bounds are exact."""


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
        """The place that the `$ref` at `pointer` refers to (RFC 6901, section 6).

        Raises:
            UnsupportedError: it leaves the document, or uses an anchor.
            InvalidGrammarError: it is malformed or leads nowhere.
        """
        if not isinstance(reference, str):
            raise InvalidGrammarError("$ref must be a string", pointer=pointer, keyword="$ref")
        if not reference.startswith("#"):
            raise UnsupportedError(
                f"$ref {reference!r} leaves the document; put the target under $defs",
                pointer=pointer,
                keyword="$ref",
            )
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            raise UnsupportedError(
                f"$ref {reference!r} uses an anchor; refer to it by a JSON Pointer",
                pointer=pointer,
                keyword="$ref",
            )
        target = self._root
        for token in fragment.split("/")[1:]:
            found = _child(target, token.replace("~1", "/").replace("~0", "~"))
            if found is None:
                raise InvalidGrammarError(
                    f"$ref {reference!r} leads nowhere", pointer=pointer, keyword="$ref"
                )
            target = found[0]
        return self.place(fragment, target)


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
