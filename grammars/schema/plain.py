"""PlainSchemas: schemas that are read at a glance, in which nothing can be wrong or too large.

Nine of ten subschemas of real documents are a `type` with members, or a list of scalars. Of those
it is known at once which members they have and which of these they need, so that emptiness is
decided without them, and their values are made when a text gets there. Everything else is read by
`Applicators`, which finds what is wrong; where both can read a schema they agree on its value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, Protocol

from grammars.schema.keywords import ENFORCED_KEYWORDS
from grammars.schema.plain_keywords import (
    ANY_STRING,
    BOUND_DIGITS,
    OF_NUMBERS,
    OF_STRINGS,
    SCALARS,
    STATES_OF_CHARACTER,
    NotPlainError,
    bounds_of,
    check,
    count_of,
    num_digits,
    strings_of,
    types_of,
)
from grammars.schema.pointers import escape
from grammars.schema.value import ArrayShape, ObjectShape, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.dfa import Dfa
    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.document import Json, Place
    from grammars.schema.number_algebra import NumberAlgebra
    from grammars.schema.resources import DynamicScope
    from grammars.schema.value import NodeId, StringSet

_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_OF_TEXTS: Final = _DEFINITIONS | {"type", "enum", "const"}
_OF_OBJECTS: Final = frozenset({"properties", "required", "additionalProperties"})
_OF_ARRAYS: Final = frozenset({"items", "minItems", "maxItems", "additionalItems"})
_OF_SCALARS: Final = OF_STRINGS | OF_NUMBERS
_PLAIN: Final = _DEFINITIONS | _OF_OBJECTS | _OF_ARRAYS | _OF_SCALARS | {"type"}
_BESIDE_TEXTS: Final = ENFORCED_KEYWORDS - _OF_TEXTS
_BESIDE_PLAIN: Final = ENFORCED_KEYWORDS - _PLAIN

_NUMERIC: Final = frozenset({"number", "integer"})
_BOTH: Final = frozenset((True, False))
_NEITHER: Final[frozenset[bool]] = frozenset()


@dataclass(frozen=True, slots=True)
class Plain:
    """What a plain schema allows.

    Args:
        value: its value, but for what the last two make.
        members: the nodes of all members that its objects and arrays may have.
        needed: of these, the ones without which it has no value.
        strings: makes the strings that are in it too, some at least; None where there are no more.
        numbers: likewise.
    """

    value: Value
    members: tuple[NodeId, ...] = ()
    needed: tuple[NodeId, ...] = ()
    strings: Callable[[], StringSet | None] | None = None
    numbers: Callable[[], Dfa] | None = None

    def whole_value(self) -> Value:
        """Its value; the automata are made here."""
        value = self.value
        if self.strings is not None:
            value = replace(value, strings=self.strings())
        if self.numbers is not None:
            value = replace(value, numbers=self.numbers())
        return value


class Nodes(Protocol):
    """The graph, as this module needs it."""

    anything: NodeId
    nothing: NodeId

    def child(self, pointer: str, schema: Json, scope: DynamicScope) -> NodeId:
        """The node of the subschema at `pointer`, reached from a place in a dynamic scope."""
        ...


class PlainSchemas:
    """Reads plain schemas.

    Args:
        nodes: the graph.
        algebra: operations on values.
    """

    def __init__(self, nodes: Nodes, algebra: ValueAlgebra) -> None:
        self._nodes = nodes
        self._scalars = algebra.scalars
        self._shapes = algebra.shapes
        self._everything = algebra.everything

    def find(self, place: Place) -> Plain | None:
        """What a schema allows; None where it is not plain, or is malformed.

        Raises:
            GrammarError: as the graph does where it makes the nodes of the members.
        """
        schema = place.schema
        if schema is True:
            return Plain(self._everything, members=(self._nodes.anything,))
        if schema is False:
            return Plain(Value(), needed=(self._nodes.nothing,))
        is_listed = "enum" in schema or "const" in schema
        if not (_BESIDE_TEXTS if is_listed else _BESIDE_PLAIN).isdisjoint(schema):
            return None
        try:
            return self._listed(schema) if is_listed else self._typed(place, schema)
        except NotPlainError:
            return None

    def _listed(self, schema: dict[str, Json]) -> Plain:
        """A short list of scalars, all of them of a type that is asked for."""
        given = schema.get("enum", [schema.get("const")])
        if not isinstance(given, list) or not given or ("enum" in schema and "const" in schema):
            raise NotPlainError
        check(len(given) <= self._scalars.max_states // STATES_OF_CHARACTER)
        types, num_characters = types_of(schema), 0
        texts: list[str] = []
        numbers: list[Decimal] = []
        others: set[bool | None] = set()
        for item in given:
            match item:
                case str():
                    check("string" in types and self._can_spell(item))
                    texts.append(item)
                    num_characters += len(item)
                case bool() | None:
                    check(("null" if item is None else "boolean") in types)
                    others.add(item)
                case int() | Decimal():
                    number = Decimal(item)
                    check("number" in types or ("integer" in types and isinstance(item, int)))
                    num_characters += num_digits(number)
                    numbers.append(number)
                case _:
                    raise NotPlainError
        check(STATES_OF_CHARACTER * num_characters <= self._scalars.max_states)
        booleans = frozenset(flag for flag in others if flag is not None)
        value = Value(has_null=None in others, booleans=booleans)
        scalars = self._scalars
        return Plain(
            value,
            strings=partial(scalars.strings_among, tuple(texts)) if texts else None,
            numbers=partial(scalars.numbers.among, tuple(numbers)) if numbers else None,
        )

    def _typed(self, place: Place, schema: dict[str, Json]) -> Plain:
        types = types_of(schema)
        if types <= SCALARS and _OF_SCALARS.isdisjoint(schema):
            return _whole_types(types, self._scalars.numbers)
        objects: tuple[ObjectShape, ...] = ()
        arrays: tuple[ArrayShape, ...] = ()
        members: tuple[NodeId, ...] = ()
        needed: tuple[NodeId, ...] = ()
        if "object" in types:
            shape = self._object(place, schema)
            objects = (shape,)
            members = tuple(shape.declared.values())
            if shape.additional != self._nodes.nothing:
                members = (*members, shape.additional)
            if shape.required:
                needed = tuple(map(shape.declared.__getitem__, shape.required))
        if "array" in types:
            array = self._array(place, schema)
            arrays = (array,)
            members = (*members, array.rest)
            check(not (needed and array.min_items))
            needed = (array.rest,) if array.min_items and not objects else ()
        return Plain(
            Value(
                has_null="null" in types,
                booleans=_BOTH if "boolean" in types else _NEITHER,
                numbers=_all_numbers(types, self._scalars.numbers),
                strings=strings_of(schema) if "string" in types else None,
                objects=objects,
                arrays=arrays,
            ),
            members,
            () if not types.isdisjoint(SCALARS) else needed,
            numbers=self._numbers(schema, types),
        )

    def _numbers(self, schema: dict[str, Json], types: frozenset[str]) -> Callable[[], Dfa] | None:
        """Those within whole bounds of few digits, of which the lower one is no greater."""
        if OF_NUMBERS.isdisjoint(schema):
            return None
        low, high = bounds_of(schema)
        check(self._scalars.max_states >= 2 * BOUND_DIGITS * STATES_OF_CHARACTER)
        if types.isdisjoint(_NUMERIC):
            return None
        is_integer = "number" not in types
        return partial(self._scalars.numbers.between, low, high, is_integer=is_integer)

    def _object(self, place: Place, schema: dict[str, Json]) -> ObjectShape:
        if _OF_OBJECTS.isdisjoint(schema):
            return self._shapes.any_object
        declared, required = schema.get("properties", {}), schema.get("required", [])
        if not isinstance(declared, dict) or not isinstance(required, list):
            raise NotPlainError
        names = tuple(dict.fromkeys(name for name in required if isinstance(name, str)))
        check(len(names) == len(required) and all(name in declared for name in names))
        check(all(map(self._can_spell, declared)))
        child, pointer, scope = self._nodes.child, place.pointer, place.scope
        return ObjectShape(
            tuple(
                (name, child(f"{pointer}/properties/{escape(name)}", schema_of_name, scope))
                for name, schema_of_name in declared.items()
            ),
            names,
            self._member(place, schema, "additionalProperties"),
        )

    def _array(self, place: Place, schema: dict[str, Json]) -> ArrayShape:
        if _OF_ARRAYS.isdisjoint(schema):
            return self._shapes.any_array
        low, high = count_of(schema, "minItems"), count_of(schema, "maxItems")
        check(high is None or high >= (low or 0))
        check(not isinstance(schema.get("items"), list))
        return ArrayShape((), self._member(place, schema, "items"), low or 0, high)

    def _member(self, place: Place, schema: dict[str, Json], keyword: str) -> NodeId:
        if keyword not in schema:
            return self._nodes.anything
        return self._nodes.child(f"{place.pointer}/{keyword}", schema[keyword], place.scope)

    def _can_spell(self, text: str) -> bool:
        return self._scalars.can_spell(text)


@lru_cache(maxsize=256)
def _whole_types(types: frozenset[str], numbers: NumberAlgebra) -> Plain:
    """All values of some scalar types; most subschemas are such."""
    return Plain(
        Value(
            has_null="null" in types,
            booleans=_BOTH if "boolean" in types else _NEITHER,
            numbers=_all_numbers(types, numbers),
            strings=ANY_STRING if "string" in types else None,
        )
    )


def _all_numbers(types: frozenset[str], numbers: NumberAlgebra) -> Dfa | None:
    if "number" in types:
        return numbers.everything
    return numbers.integers if "integer" in types else None
