"""GrammarSpec: what the caller asked for, frozen and hashable; a compile is a pure function of it.

A spec says which *texts* are allowed. Schemas, regexes, choices and grammars are leaves; a
`Structure` composes them with literal tags and free text (tool calls, thoughts and then JSON, tools
or JSON).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeVar, assert_never
from typing import Literal as OneOf

Whitespace: TypeAlias = OneOf["compact", "single"]
"""compact: no whitespace between JSON tokens. single: at most one space after each ':' and ','.

Both are bounded on purpose: unbounded whitespace lets a model pad until its token limit. "single"
takes both the compact form and what Python's `json.dumps` and the Qwen/Hermes models write, and is
the default.
"""


CfgSyntax: TypeAlias = OneOf["gbnf", "lark"]


PropertyOrder: TypeAlias = OneOf["schema", "any"]
"""schema: declared keys in the order of the schema, then the others. any: keys in any order, each
at most once."""


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """JSON documents valid under a JSON Schema (2020-12 meaning).

    Args:
        text: the schema as JSON text. Text, so that the spec is hashable and the key order of
            `properties` (the order in which keys are generated) is kept.
        whitespace: see `Whitespace`.
        property_order: see `PropertyOrder`; elements of an array with `uniqueItems` keep the order
            of the schema.
    """

    text: str
    whitespace: Whitespace = "single"
    property_order: PropertyOrder = "schema"

    @classmethod
    def from_value(
        cls,
        schema: object,
        *,
        whitespace: Whitespace = "single",
        property_order: PropertyOrder = "schema",
    ) -> JsonSchema:
        """Build the spec from parsed JSON (a dict or a bool), keeping key order."""
        return cls(_ENCODER.encode(schema), whitespace, property_order)


@dataclass(frozen=True, slots=True)
class JsonObject:
    """Any JSON object (OpenAI's `json_object` mode): the root is always `{...}`.

    Args:
        whitespace: see `Whitespace`.
        property_order: see `PropertyOrder`; "any" only says that no key is written twice.
    """

    whitespace: Whitespace = "single"
    property_order: PropertyOrder = "schema"


@dataclass(frozen=True, slots=True)
class Regex:
    """Texts that match a pattern as a whole (ECMA-262 syntax with u semantics)."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Exactly one of the given texts, literally."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cfg:
    """Texts of a context-free grammar; docs/grammars.md says what each syntax means.

    Args:
        syntax: "gbnf" (llama.cpp; texts are `root`) or "lark" (as OpenAI's custom tools take it;
            texts are `start`).
        text: the grammar.
        in_json_string: texts are spelled as the content of a JSON string, with escapes only where
            they must be; its quotes are not part of them.
    """

    syntax: CfgSyntax
    text: str
    in_json_string: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """A composition of literal text, free text and other specs."""

    root: Part


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly this text.

    Where the vocabulary has a control token spelled like a part of the text (`<tool_call>` in
    Qwen's), that part is that one token: control tokens enter the output only where a structure
    names them.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Embed:
    """A text of another spec, in place.

    What follows a grammar must begin with a character that the grammar never writes (or with a
    control token), so that its end is plain; inside a JSON string the closing quote is one.
    """

    spec: JsonSchema | JsonObject | Regex | Choice | Cfg


@dataclass(frozen=True, slots=True)
class Sequence:
    """All parts, one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of the options.

    Options are followed side by side until they differ; where the longest match of one would lose
    another (a literal object beside a schema of objects), the structure is refused.
    """

    options: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`part` again and again, at least `minimum` and at most `maximum` times (None: no bound)."""

    part: Part
    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class Tagged:
    """Inside free text: wherever `begin` is written, `body` must follow, up to its own end tag."""

    begin: str
    body: Part


@dataclass(frozen=True, slots=True)
class FreeText:
    """Any text at all, except that tags in it must be followed by their bodies.

    Args:
        tags: the tagged blocks that may appear; begin strings must not be prefixes of one another.
        max_tags: how many tagged blocks may appear (None: no bound); then no begin string may.
        end: None: the text may end anywhere outside a block. Else the text ends with the first
            occurrence of `end`, which is part of it (as `</think>` ends a reasoning block).
    """

    tags: tuple[Tagged, ...] = ()
    max_tags: int | None = None
    end: str | None = None


Part: TypeAlias = Literal | Embed | Sequence | Either | Repeat | FreeText
TextSpec: TypeAlias = JsonSchema | JsonObject | Regex | Choice | Cfg | Structure
"""What is said about the texts alone, however they are cut into tokens."""


@dataclass(frozen=True, slots=True)
class LimitedBlock:
    """Texts of another spec in which the block at their beginning has few tokens.

    The block is free text, up to and with the first `end`. Texts that do not begin with `begin`,
    white space left aside, have none.

    Args:
        spec: all texts.
        begin: what the block begins with; "" where every text begins inside of it.
        end: what ends it.
        max_tokens: between `begin` and `end`, >= 0; so `end` is written in time.
    """

    spec: TextSpec
    begin: str
    end: str
    max_tokens: int


GrammarSpec: TypeAlias = TextSpec | LimitedBlock


def with_property_order(spec: GrammarSpec, property_order: PropertyOrder) -> GrammarSpec:
    """The same texts, but for the order of keys in all JSON documents of the spec."""
    if isinstance(spec, LimitedBlock):
        return replace(spec, spec=_ordered_texts(spec.spec, property_order))
    return _ordered_texts(spec, property_order)


def _ordered_texts(spec: TextSpec, property_order: PropertyOrder) -> TextSpec:
    if isinstance(spec, Structure):
        return Structure(_ordered_part(spec.root, property_order))
    return _ordered_document(spec, property_order)


_Document = TypeVar("_Document", bound=JsonSchema | JsonObject | Regex | Choice | Cfg)


def _ordered_document(spec: _Document, property_order: PropertyOrder) -> _Document:
    if isinstance(spec, JsonSchema | JsonObject):
        return replace(spec, property_order=property_order)
    return spec


def _ordered_part(part: Part, property_order: PropertyOrder) -> Part:
    match part:
        case Literal():
            return part
        case Embed(spec):
            return Embed(_ordered_document(spec, property_order))
        case Sequence(parts):
            return Sequence(tuple(_ordered_part(inner, property_order) for inner in parts))
        case Either(options):
            return Either(tuple(_ordered_part(option, property_order) for option in options))
        case Repeat(inner):
            return replace(part, part=_ordered_part(inner, property_order))
        case FreeText(tags):
            ordered = (replace(tag, body=_ordered_part(tag.body, property_order)) for tag in tags)
            return replace(part, tags=tuple(ordered))
        case _:
            assert_never(part)
