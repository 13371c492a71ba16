"""SchemaObject: the keywords of one schema object, read and checked where they enter."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from grammars.automata import json_number
from grammars.errors import GrammarError, InvalidGrammarError, LimitExceededError, UnsupportedError
from grammars.schema.formats import ENFORCED_FORMATS
from grammars.schema.keywords import KIND_OF_KEYWORD, SUPPORT, Support
from grammars.schema.listed_branches import with_joined_lists
from grammars.schema.pointers import escape
from grammars.schema.value import ArrayShape, Count, ObjectShape, StringSet, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa
    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.document import Json, Place
    from grammars.schema.value import NodeId

_TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")


_REFUSED = frozenset(name for name, (kind, _) in SUPPORT.items() if kind is Support.REFUSED)


class SchemaObject:
    """Reads the keywords of one schema object.

    Args:
        place: where the object stands; its schema is a dict.
        child: makes the node of the subschema at a pointer.
        algebra: operations on values.
    """

    def __init__(
        self, place: Place, child: Callable[[str, Json], NodeId], algebra: ValueAlgebra
    ) -> None:
        assert isinstance(place.schema, dict)
        self._schema = place.schema
        self._pointer = place.pointer
        self._child = child
        self._scalars = algebra.scalars
        self._shapes = algebra.shapes
        self._everything = algebra.everything

    def check_keywords(self) -> None:
        """Refuse by name what is not enforced.

        Raises:
            UnsupportedError: at the first such keyword.
        """
        for keyword in self._schema:
            if keyword in _REFUSED:
                raise self._unsupported(keyword, f"keyword {keyword!r}")

    def assertions(self) -> Value:
        """The values that the type and the type-specific keywords allow."""
        if "type" not in self._schema and KIND_OF_KEYWORD.keys().isdisjoint(self._schema):
            return self._everything
        types = self._types()
        objects = self._object() if "object" in types else None
        arrays = self._array() if "array" in types else None
        return Value(
            has_null="null" in types,
            booleans=frozenset((True, False)) if "boolean" in types else frozenset(),
            numbers=self._numbers(types),
            strings=self._strings() if "string" in types else None,
            objects=() if objects is None else (objects,),
            arrays=() if arrays is None else (arrays,),
        )

    def member(self, keyword: str) -> NodeId:
        """The node of the subschema under `keyword`; of everything where it is absent."""
        return self._child(self._at(keyword), self._schema.get(keyword, True))

    def branches(self, keyword: str) -> list[NodeId] | None:
        """The nodes of the subschemas listed under `keyword`; None where it is absent."""
        given = self._listed(keyword)
        if given is None:
            return None
        place = self._at(keyword)
        return [self._child(f"{place}/{i}", item) for i, item in enumerate(given)]

    def alternatives(self, keyword: str) -> list[NodeId] | None:
        """As `branches`, for a union; those that only list constants are one node."""
        given = self._listed(keyword)
        if given is None:
            return None
        place = self._at(keyword)
        return [self._child(place + pointer, item) for pointer, item in with_joined_lists(given)]

    def dependencies(self) -> Iterator[tuple[str, NodeId]]:
        """Keys whose presence demands something of the object, each with the node of what."""
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            given = self._schema.get(keyword, {})
            if not isinstance(given, dict):
                raise self._invalid(keyword, "must be an object")
            for key, demand in given.items():
                pointer = self._at(keyword, key)
                if keyword == "dependentRequired" or isinstance(demand, list):
                    demand = {"required": demand}
                yield key, self._child(pointer, demand)

    def _listed(self, keyword: str) -> list[Json] | None:
        if keyword not in self._schema:
            return None
        given = self._schema[keyword]
        if not isinstance(given, list) or not given:
            raise self._invalid(keyword, "must be a non-empty array of schemas")
        return given

    def keys_matching(self, pattern: str) -> CodePointDfa:
        """The keys in which a pattern is found."""
        try:
            found = self._scalars.strings_matching(pattern)
        except GrammarError as error:
            raise self._located(error, "patternProperties") from error
        return self._scalars.content(found) if found is not None else self._scalars.no_strings

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
        low, low_open = self._bound("minimum", "exclusiveMinimum", max)
        high, high_open = self._bound("maximum", "exclusiveMaximum", min)
        step = self._number("multipleOf")
        if step is not None and step <= 0:
            raise self._invalid("multipleOf", "must be greater than 0")
        if not types & {"number", "integer"}:
            return None
        is_integer = "number" not in types
        if low is None and high is None and step is None:
            all_of = self._scalars.numbers
            return all_of.integers if is_integer else all_of.everything
        try:
            numbers = json_number.number_dfa(
                integer=is_integer,
                minimum=None if low_open else low,
                maximum=None if high_open else high,
                exclusive_minimum=low if low_open else None,
                exclusive_maximum=high if high_open else None,
                multiple_of=step,
                spelling="every",
                max_states=self._scalars.max_states,
            )
        except LimitExceededError as error:
            raise self._located(error, "multipleOf" if step is not None else "minimum") from error
        return None if numbers.is_empty else numbers

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
        if keyword not in self._schema:
            return None
        given = self._schema[keyword]
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
                    strings = self._scalars.intersect_strings(strings, content())
                except GrammarError as error:
                    raise self._located(error, keyword) from error
        return strings

    def _pattern(self) -> StringSet | None:
        pattern = self._schema["pattern"]
        if not isinstance(pattern, str):
            raise self._invalid("pattern", "must be a string")
        return self._scalars.strings_matching(pattern)

    def _format(self) -> StringSet | None:
        name = self._schema["format"]
        if not isinstance(name, str):
            raise self._invalid("format", "must be a string")
        if name not in ENFORCED_FORMATS:
            return StringSet()
        return self._scalars.strings_of_format(name, self._count("maxLength"))

    def _restricts(self, kind: str) -> bool:
        return any(KIND_OF_KEYWORD.get(keyword) == kind for keyword in self._schema)

    def _object(self) -> ObjectShape | None:
        if not self._restricts("object"):
            return self._shapes.any_object
        required = self._required()
        members = self._members("properties")
        members |= {
            name: self._child(self._at("properties", name), False)
            for name in (*members, *required)
            if not self._scalars.can_spell(name)
        }
        low, high = self._count("minProperties") or 0, self._count("maxProperties")
        if high is not None and low > high:
            return None
        shape = ObjectShape(
            tuple(members.items()),
            required,
            self.member("additionalProperties"),
            min_properties=low,
            max_properties=high,
        )
        patterns = self._members("patternProperties")
        return self._shapes.with_patterns(
            shape, [(self.keys_matching(pattern), node) for pattern, node in patterns.items()]
        )

    def _members(self, keyword: str) -> dict[str, NodeId]:
        given = self._schema.get(keyword, {})
        if not isinstance(given, dict):
            raise self._invalid(keyword, "must be an object")
        return {name: self._child(self._at(keyword, name), node) for name, node in given.items()}

    def _required(self) -> tuple[str, ...]:
        given = self._schema.get("required", [])
        if isinstance(given, bool):
            raise self._invalid("required", "must be an array of names beside `properties`")
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise self._invalid("required", "must be an array of strings")
        return tuple(dict.fromkeys(str(name) for name in given))

    def _array(self) -> ArrayShape | None:
        if not self._restricts("array"):
            return self._shapes.any_array
        low, high = self._count("minItems") or 0, self._count("maxItems")
        if high is not None and low > high:
            return None
        items = self._schema.get("items")
        if "prefixItems" in self._schema:
            prefix, rest = self.branches("prefixItems"), self.member("items")
        elif isinstance(items, list):  # draft-07: a tuple, followed by additionalItems
            prefix = self.branches("items") if items else []
            rest = self.member("additionalItems")
        else:
            prefix, rest = [], self.member("items")
        is_unique = self._schema.get("uniqueItems", False)
        if not isinstance(is_unique, bool):
            raise self._invalid("uniqueItems", "must be true or false")
        counts = tuple(self._contains())
        return ArrayShape(tuple(prefix or ()), rest, low, high, counts, is_unique=is_unique)

    def _contains(self) -> Iterator[Count]:
        if "contains" in self._schema:
            low, high = self._count("minContains"), self._count("maxContains")
            yield Count(0, self.member("contains"), 1 if low is None else low, high)

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
