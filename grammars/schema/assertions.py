"""The type-specific assertions of one schema object, as a value."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from grammars.automata import json_number
from grammars.errors import GrammarError, InvalidGrammarError, LimitExceededError, UnsupportedError
from grammars.schema.document import escape
from grammars.schema.formats import ENFORCED_FORMATS, STANDARD_FORMATS
from grammars.schema.keywords import SUPPORT, Support
from grammars.schema.value import ArrayShape, ObjectShape, StringSet, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.dfa import Dfa
    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.document import Json, Place
    from grammars.schema.value import NodeId

_TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")


class SchemaObject:
    """Reads the keywords of one schema object, checking each where it enters.

    Args:
        place: where the object stands; its schema is a dict.
        child: makes the node of the subschema at a pointer.
        algebra: budgets and string operations.
    """

    def __init__(
        self, place: Place, child: Callable[[str, Json], NodeId], algebra: ValueAlgebra
    ) -> None:
        assert isinstance(place.schema, dict)
        self._schema = place.schema
        self._pointer = place.pointer
        self._child = child
        self._algebra = algebra

    def check_keywords(self) -> None:
        """Refuse by name what is not enforced.

        Raises:
            UnsupportedError: at the first such keyword.
        """
        for keyword, given in self._schema.items():
            support = SUPPORT.get(keyword)
            if support is None or support[0] is not Support.REFUSED:
                continue
            if not self._restricts_nothing(keyword, given):
                raise self._unsupported(keyword, f"keyword {keyword!r}")

    def assertions(self) -> Value:
        """The values that the type and the type-specific keywords allow."""
        types = self._types()
        return Value(
            has_null="null" in types,
            booleans=frozenset((True, False)) if "boolean" in types else frozenset(),
            numbers=self._numbers(types),
            strings=self._strings() if "string" in types else None,
            objects=(self._object(),) if "object" in types else (),
            arrays=self._arrays() if "array" in types else (),
        )

    def branches(self, keyword: str) -> list[NodeId] | None:
        """The nodes of the subschemas listed under `keyword`; None where it is absent."""
        if keyword not in self._schema:
            return None
        given = self._schema[keyword]
        if not isinstance(given, list) or not given:
            raise self._invalid(keyword, "must be a non-empty array of schemas")
        return [self._child(self._at(keyword, str(i)), item) for i, item in enumerate(given)]

    def _restricts_nothing(self, keyword: str, given: Json) -> bool:
        match keyword:
            case "then" | "else":
                return "if" not in self._schema
            case "minContains" | "maxContains":
                return "contains" not in self._schema
            case "uniqueItems":
                return given is False
            case _:
                return False

    def _types(self) -> frozenset[str]:
        given = self._schema.get("type", list(_TYPES))
        names = given if isinstance(given, list) else [given]
        for name in names:
            if name not in _TYPES:
                raise self._invalid(
                    "type", f"{name!r} is not a type; use one of {', '.join(_TYPES)}"
                )
        if not names:
            raise self._invalid("type", "must name at least one type")
        return frozenset(str(name) for name in names)

    def _numbers(self, types: frozenset[str]) -> Dfa | None:
        if not types & {"number", "integer"}:
            return None
        low, low_open = self._bound("minimum", "exclusiveMinimum", max)
        high, high_open = self._bound("maximum", "exclusiveMaximum", min)
        numbers = json_number.number_dfa(
            integer="number" not in types,
            minimum=None if low_open else low,
            maximum=None if high_open else high,
            exclusive_minimum=low if low_open else None,
            exclusive_maximum=high if high_open else None,
            multiple_of=self._multiple_of(),
            max_states=self._algebra.max_states,
        )
        return None if numbers.is_empty else numbers

    def _multiple_of(self) -> Decimal | None:
        factor = self._number("multipleOf")
        if factor is not None and factor <= 0:
            raise self._invalid("multipleOf", "must be greater than 0")
        return factor

    def _bound(
        self, inclusive: str, exclusive: str, tighter: Callable[[Decimal, Decimal], Decimal]
    ) -> tuple[Decimal | None, bool]:
        closed = self._number(inclusive)
        given = self._schema.get(exclusive)
        if isinstance(given, bool):  # draft-04: the bound stands under the inclusive keyword
            return closed, given and closed is not None
        opened = self._number(exclusive)
        if closed is None or opened is None:
            return (closed, False) if opened is None else (opened, True)
        return (opened, True) if tighter(closed, opened) == opened else (closed, False)

    def _number(self, keyword: str) -> Decimal | None:
        given = self._schema.get(keyword)
        if given is None and keyword not in self._schema:
            return None
        if isinstance(given, bool) or not isinstance(given, (int, Decimal)):
            raise self._invalid(keyword, "must be a number")
        return Decimal(given)

    def _count(self, keyword: str) -> int | None:
        number = self._number(keyword)
        if number is None:
            return None
        if number < 0 or number != number.to_integral_value():
            raise self._invalid(keyword, "must be a non-negative integer")
        return int(number)

    def _strings(self) -> StringSet | None:
        low, high = self._count("minLength") or 0, self._count("maxLength")
        if high is not None and low > high:
            return None
        strings: StringSet | None = StringSet(None, low, high)
        for keyword, content in (("pattern", self._pattern), ("format", self._format)):
            if keyword in self._schema:
                try:
                    strings = self._algebra.intersect_strings(strings, content())
                except GrammarError as error:
                    raise self._located(error, keyword) from error
        return strings

    def _pattern(self) -> StringSet | None:
        pattern = self._schema["pattern"]
        if not isinstance(pattern, str):
            raise self._invalid("pattern", "must be a string")
        return self._algebra.strings_matching(pattern)

    def _format(self) -> StringSet | None:
        name = self._schema["format"]
        if not isinstance(name, str):
            raise self._invalid("format", "must be a string")
        if name in STANDARD_FORMATS - ENFORCED_FORMATS:
            raise self._unsupported("format", f"format {name!r}")
        return self._algebra.strings_of_format(name) if name in ENFORCED_FORMATS else StringSet()

    def _object(self) -> ObjectShape:
        declared = self._schema.get("properties", {})
        if not isinstance(declared, dict):
            raise self._invalid("properties", "must be an object")
        required = self._required()
        members = {
            name: self._child(self._at("properties", name), member)
            for name, member in declared.items()
        }
        members |= {
            name: self._child(self._at("properties", name), False)
            for name in (*declared, *required)
            if not self._algebra.can_spell(name)
        }
        return ObjectShape(tuple(members.items()), required, self._member("additionalProperties"))

    def _required(self) -> tuple[str, ...]:
        given = self._schema.get("required", [])
        if isinstance(given, bool):
            raise self._invalid("required", "must be an array of names beside `properties`")
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise self._invalid("required", "must be an array of strings")
        return tuple(dict.fromkeys(str(name) for name in given))

    def _arrays(self) -> tuple[ArrayShape, ...]:
        low, high = self._count("minItems") or 0, self._count("maxItems")
        if high is not None and low > high:
            return ()
        items = self._schema.get("items")
        if "prefixItems" in self._schema:
            prefix, rest = self.branches("prefixItems"), self._member("items")
        elif isinstance(items, list):  # draft-07: a tuple, followed by additionalItems
            prefix = self.branches("items") if items else []
            rest = self._member("additionalItems")
        else:
            prefix, rest = [], self._member("items")
        return (ArrayShape(tuple(prefix or ()), rest, low, high),)

    def _member(self, keyword: str) -> NodeId:
        return self._child(self._at(keyword), self._schema.get(keyword, True))

    def _at(self, *tokens: str) -> str:
        return "/".join([self._pointer, *(escape(token) for token in tokens)])

    def _invalid(self, keyword: str, reason: str) -> InvalidGrammarError:
        return InvalidGrammarError(f"{keyword!r} {reason}", pointer=self._pointer, keyword=keyword)

    def _unsupported(self, keyword: str, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{what} is not supported; remove it or see docs/json_schema.md",
            pointer=self._pointer,
            keyword=keyword,
        )

    def _located(self, error: GrammarError, keyword: str) -> GrammarError:
        match error:
            case UnsupportedError() | InvalidGrammarError():
                return type(error)(error.reason, pointer=self._pointer, keyword=keyword)
            case LimitExceededError():
                what = f"{keyword!r} at {self._pointer or '(root)'}"
                return LimitExceededError(error.limit, error.allowed, what)
            case _:
                return error
