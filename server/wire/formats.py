"""Formats that an answer can be bound to: `response_format` and `structured_outputs`."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import Items, WireModel


class TextFormat(WireModel):
    """Free text."""

    type: OneOf["text"]


class JsonObjectFormat(WireModel):
    """Any JSON object, or one that is valid under a schema: an extension of several servers."""

    type: OneOf["json_object"]
    schema_: dict[str, object] | bool | None = Field(default=None, alias="schema")


class NamedSchema(WireModel):
    """A JSON Schema with the name that the caller gave it."""

    name: str
    schema_: dict[str, object] | bool = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None


class JsonSchemaFormat(WireModel):
    """A document that is valid under a JSON Schema."""

    type: OneOf["json_schema"]
    json_schema: NamedSchema


class GrammarFormat(WireModel):
    """A text of a grammar, in GBNF or Lark."""

    type: OneOf["grammar"]
    grammar: str


class RegexFormat(WireModel):
    """A text that matches a pattern as a whole."""

    type: OneOf["regex"]
    pattern: str


class StructuralTagFormat(WireModel):
    """Text with tags, see `server.structural_tag`; the older form has structures and triggers."""

    type: OneOf["structural_tag"]
    format: dict[str, object] | None = None
    structures: list[object] | None = None
    triggers: list[object] | None = None


ResponseFormat: TypeAlias = Annotated[
    TextFormat
    | JsonObjectFormat
    | JsonSchemaFormat
    | GrammarFormat
    | RegexFormat
    | StructuralTagFormat,
    Field(discriminator="type"),
]


class StructuredOutputs(WireModel):
    """vLLM's extension: exactly one of the constraints is set."""

    json_: dict[str, object] | bool | str | None = Field(default=None, alias="json")
    regex: str | None = None
    choice: Items[str] | None = None
    json_object: bool | None = None
    grammar: str | None = None
    structural_tag: dict[str, object] | str | None = None
    whitespace_pattern: None = None
