"""The table of JSON Schema keywords: enforced, only annotating, or refused by name.

The table in docs/json_schema.md is generated from here (`python -m grammars.schema.keywords`).
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from grammars.schema.formats import ENFORCED_FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping


class Support(Enum):
    """What happens to a keyword."""

    ENFORCED = "enforced"
    ANNOTATION = "annotation"  # by the standard it restricts nothing
    REFUSED = "refused"


_ENFORCED: Mapping[str, str] = {
    "$ref": "inside the document and to the metaschemas, recursion included; remote ones are "
    "refused; siblings count, except where `$schema` names draft-07 or older",
    "$dynamicRef": "like `$ref`, in the dynamic scope",
    "$recursiveRef": "the same in 2019-09",
    "$defs": "targets of `$ref`",
    "definitions": "targets of `$ref`",
    "type": "one type or a list",
    "enum": "any JSON values",
    "const": "any JSON value",
    "allOf": "intersection",
    "anyOf": "union; branches are followed side by side; a branch that is the union itself is "
    "ignored",
    "oneOf": "exactly one branch",
    "not": "complement",
    "if": "",
    "then": "",
    "else": "",
    "properties": "written in the order of the schema",
    "required": "also keys that `properties` does not declare",
    "additionalProperties": "written after the declared keys",
    "patternProperties": "written after the declared keys",
    "propertyNames": "",
    "minProperties": "",
    "maxProperties": "",
    "dependentRequired": "",
    "dependentSchemas": "",
    "dependencies": "both forms of draft-07",
    "unevaluatedProperties": "also beside branches, which count as evaluating where they hold",
    "items": "a schema, a boolean, or the array form of draft-07",
    "prefixItems": "",
    "additionalItems": "with the array form of `items`",
    "unevaluatedItems": "also beside branches, which count as evaluating where they hold",
    "contains": "counts as evaluating, except where `$schema` names 2019-09",
    "minContains": "",
    "maxContains": "",
    "uniqueItems": "by value; strings and numbers in such elements have one spelling each; "
    "refused where it is negated, and beside both `contains` and a tuple",
    "minItems": "",
    "maxItems": "",
    "minLength": "in code points",
    "maxLength": "in code points",
    "pattern": "ECMA-262 with u semantics, searched; lookaround included, backreferences refused",
    "format": f"{', '.join(sorted(ENFORCED_FORMATS))}; exact or narrower than their RFCs; other "
    "names restrict nothing",
    "multipleOf": "integers and decimals",
    "minimum": "",
    "maximum": "",
    "exclusiveMinimum": "a number (2020-12) or a boolean (draft-04)",
    "exclusiveMaximum": "a number (2020-12) or a boolean (draft-04)",
}

_ANNOTATIONS: Mapping[str, str] = {
    "$schema": "a known draft decides how references are resolved; others count as 2020-12",
    "$id": "a base for references",
    "id": "draft-04 spelling of `$id`",
    "$comment": "",
    "$vocabulary": "",
    "$anchor": "a target of references",
    "$dynamicAnchor": "a target of references",
    "$recursiveAnchor": "a target of references",
    "title": "",
    "description": "",
    "default": "",
    "examples": "",
    "deprecated": "",
    "readOnly": "",
    "writeOnly": "",
    "contentEncoding": "",
    "contentMediaType": "",
    "contentSchema": "",
}

_REFUSED: Mapping[str, str] = {}

SUPPORT: Mapping[str, tuple[Support, str]] = MappingProxyType(
    {name: (Support.ENFORCED, note) for name, note in _ENFORCED.items()}
    | {name: (Support.ANNOTATION, note) for name, note in _ANNOTATIONS.items()}
    | {name: (Support.REFUSED, note) for name, note in _REFUSED.items()}
)
"""Keyword -> what happens to it, and a note. Keywords that are not here are unknown to the standard
and, by the standard, restrict nothing (JSON Schema Core 2020-12, section 4.3.1)."""

ENFORCED_KEYWORDS: frozenset[str] = frozenset(
    name for name, (kind, _) in SUPPORT.items() if kind is not Support.ANNOTATION
)
"""Keywords that restrict something, or are refused."""

KIND_OF_KEYWORD: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("pattern", "format", "minLength", "maxLength"), "string")
    | dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"
    )
    | dict.fromkeys(
        ("properties", "required", "additionalProperties", "patternProperties", "propertyNames",
         "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies",
         "unevaluatedProperties"),
        "object",
    )
    | dict.fromkeys(
        ("items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains",
         "minItems", "maxItems", "uniqueItems", "unevaluatedItems"),
        "array",
    )
)  # fmt: skip
"""Keywords that restrict values of one kind only, and that kind."""


def support_table() -> str:
    """The keyword table in Markdown."""
    rows = ["| keyword | | note |", "|---|---|---|"]
    rows += [f"| `{name}` | {kind.value} | {note} |" for name, (kind, note) in SUPPORT.items()]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(support_table(), end="")  # noqa: T201 - the generator of a documentation table prints it
