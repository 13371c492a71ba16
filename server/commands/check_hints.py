"""Hints: what a schema allows, or leaves out, that its author probably did not mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from grammars.schema.keywords import SUPPORT
from server.commands.check_keywords import walk_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

_REASONING: Final = re.compile(
    r"reasoning|rationale|explanation|justification|thoughts?|thinking|analysis|chain_?of_?thought",
    re.IGNORECASE,
)
_ANSWER: Final = re.compile(
    r"(final_?)?(answer|result|conclusion|decision|verdict|score|label|rating|category|class"
    r"|classification|prediction)",
    re.IGNORECASE,
)
_LIKE_A_KEYWORD: Final = re.compile(r"(?!x-)[$a-z]", re.IGNORECASE)
"""Not `_format` or `x-format`: who writes these has put the keyword aside."""

_CATCH_ALL: Final = frozenset({"other", "others", "unknown", "none", "misc", "n/a", "undefined"})
_LARGE_ENUM: Final = 1000
_CLOSE: Final = 0.8
_BY_LOWER: Final = {name.lower(): name for name in SUPPORT}


class HintKind(Enum):
    """What a hint is about; the value is part of the JSON report."""

    MISSPELT_KEYWORD = "misspelt_keyword"
    UNDECLARED_REQUIRED = "undeclared_required"
    REASONING_AFTER_ANSWER = "reasoning_after_answer"
    CATCH_ALL_EARLY = "catch_all_early"
    UNBOUNDED_STRING = "unbounded_string"
    UNBOUNDED_ARRAY = "unbounded_array"
    LARGE_ENUM = "large_enum"
    INVALID_EXAMPLE = "invalid_example"


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint.

    Args:
        kind: what it is about.
        pointer: JSON Pointer to the schema concerned.
        message: one sentence with the way out.
    """

    kind: HintKind
    pointer: str
    message: str


def find_hints(schema: Any) -> list[Hint]:  # noqa: ANN401 - any JSON
    """What can be seen in a schema without compiling it, outer places first."""
    return [
        Hint(kind, place.pointer, message)
        for place in walk_schemas(schema)
        for look in (_spelling, _required, _order, _enum, _bounds)
        for kind, message in look(place.schema, place.pointer)
    ]


def _spelling(schema: dict[str, Any], pointer: str) -> Iterator[tuple[HintKind, str]]:  # noqa: ARG001
    for keyword in schema:
        if keyword in SUPPORT or not _LIKE_A_KEYWORD.match(keyword):
            continue
        meant = get_close_matches(keyword.lower(), _BY_LOWER, n=1, cutoff=_CLOSE)
        if meant:
            yield (
                HintKind.MISSPELT_KEYWORD,
                f"{keyword!r} is no keyword and restricts nothing; did you mean "
                f"{_BY_LOWER[meant[0]]!r}?",
            )


def _required(schema: dict[str, Any], pointer: str) -> Iterator[tuple[HintKind, str]]:  # noqa: ARG001
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or not isinstance(properties, dict):
        return
    if schema.get("patternProperties") or "$ref" in schema or "allOf" in schema:
        return  # the key may be declared there
    for key in required:
        if isinstance(key, str) and key not in properties:
            yield (
                HintKind.UNDECLARED_REQUIRED,
                f"the required key {key!r} is not in 'properties', so its value is of any kind; "
                "declare it",
            )


def _order(schema: dict[str, Any], pointer: str) -> Iterator[tuple[HintKind, str]]:  # noqa: ARG001
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    answer = None
    for key in properties:
        if answer is not None and _REASONING.fullmatch(key):
            yield (
                HintKind.REASONING_AFTER_ANSWER,
                f"keys are written in the order of 'properties', so {key!r} comes after {answer!r} "
                "and cannot help it; put it first",
            )
        elif answer is None and _ANSWER.fullmatch(key):
            answer = key


def _enum(schema: dict[str, Any], pointer: str) -> Iterator[tuple[HintKind, str]]:  # noqa: ARG001
    options = schema.get("enum")
    if not isinstance(options, list):
        return
    if len(options) > _LARGE_ENUM:
        yield (
            HintKind.LARGE_ENUM,
            f"{len(options):,} values are enforced at no cost, but a model that is shown them "
            "all reads a long prompt; consider a pattern, or groups",
        )
    for option in options[:-1]:
        if isinstance(option, str) and option.lower() in _CATCH_ALL:
            yield (
                HintKind.CATCH_ALL_EARLY,
                f"{option!r} stands before other values; models that are shown the schema favour "
                "what comes early, so put it last",
            )


def _bounds(schema: dict[str, Any], pointer: str) -> Iterator[tuple[HintKind, str]]:
    inside = pointer.split("/")
    if "enum" in schema or "const" in schema or {"not", "if", "propertyNames"} & set(inside[1:]):
        return  # what only tests is not written
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "string" in kinds and not {"maxLength", "pattern", "format"} & schema.keys():
        yield (
            HintKind.UNBOUNDED_STRING,
            "a string without 'maxLength' may run until the token limit; bound it",
        )
    closed = schema.get("items") is False or schema.get("additionalItems") is False
    if "array" in kinds and "maxItems" not in schema and not closed:
        yield (
            HintKind.UNBOUNDED_ARRAY,
            "an array without 'maxItems' may run until the token limit; bound it",
        )
