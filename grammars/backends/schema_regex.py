r"""Schema to one regex, the by-the-book way: JSON without recursion is a regular language.

The regex is in the plain syntax of `patterns` and covers the schemas that SUPPORT declares: enums,
strings, integers with bounds, numbers, closed objects in schema order, arrays and tuples, anyOf,
and references that do not recurse.
"""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Final

from grammars.backends.integer_regex import integer_regex
from grammars.backends.patterns import json_string_regex, quote_literal
from grammars.backends.schema_support import BY_TYPE, SchemaSupport
from grammars.errors import InvalidGrammarError, UnsatisfiableError
from grammars.schema.document import Json, Place, SchemaDocument
from grammars.schema.pointers import escape

if TYPE_CHECKING:
    from grammars.spec import Whitespace

SUPPORT: Final = SchemaSupport(
    backend="fsm-reference",
    keywords=frozenset(
        {
            "type", "properties", "required", "additionalProperties", "items", "prefixItems",
            "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
            "exclusiveMinimum", "exclusiveMaximum",
        }
    ),
    alone=frozenset({"$ref", "enum", "const", "anyOf"}),
    conflicts=(("pattern", "minLength"), ("pattern", "maxLength")),
    typed={
        **BY_TYPE,
        **dict.fromkeys(
            ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), ("integer",)
        ),
    },
    closed_objects=True,
    any_values=False,
    recursion=False,
)  # fmt: skip

_HEX: Final = "[0-9A-Fa-f]"
# RFC 8259, section 7; an escaped surrogate only as a pair.
_CHARACTER: Final = (
    r'(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u(?:'
    rf"[0-9A-Ca-cE-Fe-f]{_HEX}{{3}}|[Dd][0-7]{_HEX}{{2}}"
    rf"|[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}})))"
)
_NUMBER: Final = r"\-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[Ee][+\-]?[0-9]+)?"  # RFC 8259, section 6
_SEPARATORS: Final[dict[Whitespace, tuple[str, str]]] = {
    "compact": (",", ":"),
    "single": (", ?", ": ?"),
}


def schema_regex(text: str, whitespace: Whitespace) -> str:
    """The regex of the JSON documents valid under a schema.

    Args:
        text: the schema as JSON text.
        whitespace: as in `JsonSchema`.

    Raises:
        UnsupportedError: something that SUPPORT does not declare, with its place.
        InvalidGrammarError: the schema is malformed.
    """
    SUPPORT.check(text)
    document = SchemaDocument(text, knows_metaschemas=False)
    return _Converter(document, *_SEPARATORS[whitespace]).value(document.root)


class _Converter:
    """Regexes of the values at the places of one document."""

    def __init__(self, document: SchemaDocument, comma: str, colon: str) -> None:
        self._document = document
        self._comma = comma
        self._colon = colon

    def value(self, place: Place) -> str:
        schema, pointer = place.schema, place.pointer
        assert isinstance(schema, dict), "SUPPORT refuses boolean schemas"
        if "$ref" in schema:
            return self.value(next(self._document.references(place)))
        if "const" in schema:
            return self._constant(schema["const"])
        if "enum" in schema:
            return _either([self._constant(value) for value in _list(schema, "enum", pointer)])
        if "anyOf" in schema:
            return _either(
                [
                    self.value(self._document.place(f"{pointer}/anyOf/{index}", branch))
                    for index, branch in enumerate(_list(schema, "anyOf", pointer))
                ]
            )
        kind = schema["type"]
        kinds = kind if isinstance(kind, list) else [kind]
        return _either([self._typed(str(one), schema, pointer) for one in kinds])

    def _typed(self, kind: str, schema: dict[str, Json], pointer: str) -> str:
        match kind:
            case "null":
                return "null"
            case "boolean":
                return "(?:true|false)"
            case "integer":
                return integer_regex(*_integer_bounds(schema))
            case "number":
                return _NUMBER
            case "string":
                return f'"{_string_content(schema)}"'
            case "array":
                return self._array(schema, pointer)
            case "object":
                return self._object(schema, pointer)
            case _:
                raise InvalidGrammarError(f"unknown type {kind!r}", pointer=pointer, keyword="type")

    def _constant(self, value: Json) -> str:
        match value:
            case list():
                return r"\[" + self._comma.join(map(self._constant, value)) + r"\]"
            case dict():
                pairs = [self._pair(key, self._constant(item)) for key, item in value.items()]
                return r"\{" + self._comma.join(pairs) + r"\}"
            case Decimal():
                return quote_literal(str(value))
            case _:
                return quote_literal(json.dumps(value, ensure_ascii=False))

    def _pair(self, key: str, value: str) -> str:
        return quote_literal(json.dumps(key, ensure_ascii=False)) + self._colon + value

    def _object(self, schema: dict[str, Json], pointer: str) -> str:
        """Declared keys in order; an optional one brings its comma along."""
        if "properties" not in schema and schema.get("additionalProperties") is not False:
            return self._map(
                self._document.place(
                    f"{pointer}/additionalProperties", schema["additionalProperties"]
                )
            )
        declared = schema.get("properties", {})
        required = schema.get("required", [])
        assert isinstance(declared, dict), "checked by SUPPORT"
        assert isinstance(required, list), "checked by SUPPORT"
        pairs = [
            (
                self._pair(
                    key,
                    self.value(self._document.place(f"{pointer}/properties/{escape(key)}", item)),
                ),
                key in required,
            )
            for key, item in declared.items()
        ]
        first_required = next((i for i, (_, is_required) in enumerate(pairs) if is_required), None)
        if first_required is not None:
            before = "".join(f"(?:{pair}{self._comma})?" for pair, _ in pairs[:first_required])
            body = before + pairs[first_required][0] + self._rest(pairs[first_required + 1 :])
        elif pairs:
            starts = [
                pair + self._rest(pairs[index + 1 :]) for index, (pair, _) in enumerate(pairs)
            ]
            body = _either(starts) + "?"
        else:
            body = ""
        return r"\{" + body + r"\}"

    def _map(self, values: Place) -> str:
        """Any keys, with values of one schema."""
        pair = f'"{_CHARACTER}*"{self._colon}{self.value(values)}'
        return r"\{" + f"(?:{pair}(?:{self._comma}{pair})*)?" + r"\}"

    def _rest(self, pairs: list[tuple[str, bool]]) -> str:
        """Pairs that follow another one."""
        return "".join(
            f"{self._comma}{pair}" if is_required else f"(?:{self._comma}{pair})?"
            for pair, is_required in pairs
        )

    def _array(self, schema: dict[str, Json], pointer: str) -> str:
        prefix = [
            self.value(self._document.place(f"{pointer}/prefixItems/{index}", item))
            for index, item in enumerate(_list(schema, "prefixItems", pointer))
        ]
        minimum = _count(schema, "minItems") or 0
        maximum = _count(schema, "maxItems")
        if schema["items"] is False:
            item, maximum = "", min(len(prefix), len(prefix) if maximum is None else maximum)
        else:
            item = self.value(self._document.place(f"{pointer}/items", schema["items"]))
        if maximum is not None and minimum > maximum:
            raise UnsatisfiableError(
                f"no array has at least {minimum} and at most {maximum} items", pointer=pointer
            )
        return r"\[" + self._items(0, prefix, item, minimum, maximum) + r"\]"

    def _items(
        self, num_written: int, prefix: list[str], item: str, minimum: int, maximum: int | None
    ) -> str:
        """The items that may follow after `num_written` of them."""
        if maximum is not None and num_written >= maximum:
            return ""
        comma = self._comma if num_written else ""
        if num_written < len(prefix):
            following = self._items(num_written + 1, prefix, item, minimum, maximum)
            more = comma + prefix[num_written] + following
        elif num_written:
            at_most = "" if maximum is None else maximum - num_written
            at_least = max(0, minimum - num_written)
            return f"(?:{comma}{item}){{{at_least},{at_most}}}"
        else:
            more = item + self._items(1, prefix, item, minimum, maximum)
        return more if num_written < minimum else f"(?:{more})?"


def _string_content(schema: dict[str, Json]) -> str:
    if "pattern" in schema:
        return json_string_regex(str(schema["pattern"]))
    minimum, maximum = _count(schema, "minLength") or 0, _count(schema, "maxLength")
    if maximum is None:
        return f"{_CHARACTER}{{{minimum},}}"
    return f"{_CHARACTER}{{{minimum},{maximum}}}"


def _integer_bounds(schema: dict[str, Json]) -> tuple[int | None, int | None]:
    """The least and the greatest integer allowed; None is no bound."""
    lows: list[int] = []
    highs: list[int] = []
    for name, bounds, rounding, shift in (
        ("minimum", lows, ROUND_CEILING, 0),
        ("exclusiveMinimum", lows, ROUND_FLOOR, 1),
        ("maximum", highs, ROUND_FLOOR, 0),
        ("exclusiveMaximum", highs, ROUND_CEILING, -1),
    ):
        if name in schema:
            bounds.append(_round(schema[name], rounding) + shift)
    return max(lows, default=None), min(highs, default=None)


def _round(bound: Json, rounding: str) -> int:
    if isinstance(bound, bool) or not isinstance(bound, int | Decimal):
        raise InvalidGrammarError(f"a bound must be a number, not {bound!r}")
    return int(Decimal(bound).to_integral_value(rounding=rounding))


def _count(schema: dict[str, Json], name: str) -> int | None:
    value = schema.get(name)
    assert value is None or isinstance(value, int), "checked by SUPPORT"
    return value


def _list(schema: dict[str, Json], name: str, pointer: str) -> list[Json]:
    value = schema.get(name, [])
    if not isinstance(value, list):
        raise InvalidGrammarError(f"{name} must be an array", pointer=pointer, keyword=name)
    return value


def _either(options: list[str]) -> str:
    return "(?:" + "|".join(options) + ")"
