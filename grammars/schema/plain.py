"""PlainSchemas: schemas that are read at a glance, in which nothing can be wrong or too large.

Nine of ten subschemas of real documents are a `type` with members, or a list of scalars. Of those
it is known at once which members they have and which of these they need, so that emptiness is
decided without them, and their values are made when a text gets there. Everything else is read by
`Applicators`, which finds what is wrong; where both can read a schema they agree on its value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from grammars.schema.formats import ENFORCED_FORMATS
from grammars.schema.keywords import ENFORCED_KEYWORDS
from grammars.schema.pointers import escape
from grammars.schema.value import ArrayShape, ObjectShape, StringSet, Value

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa
    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.document import Json, Place
    from grammars.schema.resources import DynamicScope
    from grammars.schema.value import NodeId

_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_OF_TEXTS: Final = _DEFINITIONS | {"type", "enum", "const"}
_OF_OBJECTS: Final = frozenset({"properties", "required", "additionalProperties"})
_OF_ARRAYS: Final = frozenset({"items", "minItems", "maxItems"})
_OF_STRINGS: Final = frozenset({"minLength", "maxLength", "format"})
_PLAIN: Final = _DEFINITIONS | _OF_OBJECTS | _OF_ARRAYS | _OF_STRINGS | {"type"}
_BESIDE_TEXTS: Final = ENFORCED_KEYWORDS - _OF_TEXTS
_BESIDE_PLAIN: Final = ENFORCED_KEYWORDS - _PLAIN

_SCALARS: Final = frozenset({"null", "boolean", "number", "string", "integer"})
_ALL_TYPES: Final = _SCALARS | {"object", "array"}
_ONE_TYPE: Final = MappingProxyType({name: frozenset((name,)) for name in _ALL_TYPES})
_BOTH: Final = frozenset((True, False))
_NEITHER: Final[frozenset[bool]] = frozenset()
_ANY_STRING: Final = StringSet()

_STATES_OF_CHARACTER: Final = 16
"""More states than a JSON string takes for any of its characters, escapes included, or a number for
any of its digits."""

_MAX_DIGITS: Final = 64
"""Digits of a listed number, on either side of the point."""


class _NotPlainError(Exception):
    """A schema has to be read with care."""


@dataclass(frozen=True, slots=True)
class Plain:
    """What a plain schema allows.

    Args:
        value: its value, but for `texts` and `numbers`.
        members: the nodes of all members that its objects and arrays may have.
        needed: of these, the ones without which it has no value.
        texts: strings that are in it too; their automaton is made when it is needed.
        numbers: likewise.
    """

    value: Value
    members: tuple[NodeId, ...] = ()
    needed: tuple[NodeId, ...] = ()
    texts: tuple[str, ...] = ()
    numbers: tuple[Decimal, ...] = ()


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
        except _NotPlainError:
            return None

    def value(self, plain: Plain) -> Value:
        """The whole value of a plain schema."""
        if not plain.texts and not plain.numbers:
            return plain.value
        scalars, texts, numbers = self._scalars, plain.texts, plain.numbers
        return replace(
            plain.value,
            strings=scalars.strings_among(texts) if texts else None,
            numbers=scalars.numbers_among(numbers) if numbers else None,
        )

    def _listed(self, schema: dict[str, Json]) -> Plain:
        """A short list of scalars, all of them of a type that is asked for."""
        given = schema.get("enum", [schema.get("const")])
        if not isinstance(given, list) or not given or ("enum" in schema and "const" in schema):
            raise _NotPlainError
        _check(len(given) <= self._scalars.max_states // _STATES_OF_CHARACTER)
        types, num_characters = _types(schema), 0
        texts: list[str] = []
        numbers: list[Decimal] = []
        others: set[bool | None] = set()
        for item in given:
            match item:
                case str():
                    _check("string" in types and self._can_spell(item))
                    texts.append(item)
                    num_characters += len(item)
                case bool() | None:
                    _check(("null" if item is None else "boolean") in types)
                    others.add(item)
                case int() | Decimal():
                    number = Decimal(item)
                    _check("number" in types or ("integer" in types and isinstance(item, int)))
                    num_characters += _num_digits(number)
                    numbers.append(number)
                case _:
                    raise _NotPlainError
        _check(_STATES_OF_CHARACTER * num_characters <= self._scalars.max_states)
        booleans = frozenset(flag for flag in others if flag is not None)
        value = Value(has_null=None in others, booleans=booleans)
        return Plain(value, texts=tuple(texts), numbers=tuple(numbers))

    def _typed(self, place: Place, schema: dict[str, Json]) -> Plain:
        types = _types(schema)
        if types <= _SCALARS and _OF_STRINGS.isdisjoint(schema):
            return _whole_types(types, self._scalars.all_numbers, self._scalars.integers)
        objects: tuple[ObjectShape, ...] = ()
        arrays: tuple[ArrayShape, ...] = ()
        members: tuple[NodeId, ...] = ()
        needed: tuple[NodeId, ...] = ()
        if "object" in types:
            shape = self._object(place, schema)
            objects = (shape,)
            members = tuple(node for _, node in shape.properties)
            if shape.additional != self._nodes.nothing:
                members = (*members, shape.additional)
            if shape.required:
                needed = tuple(map(dict(shape.properties).__getitem__, shape.required))
        if "array" in types:
            array = self._array(place, schema)
            arrays = (array,)
            members = (*members, array.rest)
            _check(not (needed and array.min_items))
            needed = (array.rest,) if array.min_items and not objects else ()
        return Plain(
            Value(
                has_null="null" in types,
                booleans=_BOTH if "boolean" in types else _NEITHER,
                numbers=_numbers(types, self._scalars.all_numbers, self._scalars.integers),
                strings=_strings(schema) if "string" in types else None,
                objects=objects,
                arrays=arrays,
            ),
            members,
            () if not types.isdisjoint(_SCALARS) else needed,
        )

    def _object(self, place: Place, schema: dict[str, Json]) -> ObjectShape:
        if _OF_OBJECTS.isdisjoint(schema):
            return self._shapes.any_object
        declared, required = schema.get("properties", {}), schema.get("required", [])
        if not isinstance(declared, dict) or not isinstance(required, list):
            raise _NotPlainError
        names = tuple(dict.fromkeys(name for name in required if isinstance(name, str)))
        _check(len(names) == len(required) and all(name in declared for name in names))
        _check(all(map(self._can_spell, declared)))
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
        low, high = _count(schema, "minItems"), _count(schema, "maxItems")
        _check(high is None or high >= (low or 0))
        _check(not isinstance(schema.get("items"), list))
        return ArrayShape((), self._member(place, schema, "items"), low or 0, high)

    def _member(self, place: Place, schema: dict[str, Json], keyword: str) -> NodeId:
        if keyword not in schema:
            return self._nodes.anything
        return self._nodes.child(f"{place.pointer}/{keyword}", schema[keyword], place.scope)

    def _can_spell(self, text: str) -> bool:
        return self._scalars.can_spell(text)


@lru_cache(maxsize=256)
def _whole_types(types: frozenset[str], all_numbers: Dfa, integers: Dfa) -> Plain:
    """All values of some scalar types; most subschemas are such."""
    return Plain(
        Value(
            has_null="null" in types,
            booleans=_BOTH if "boolean" in types else _NEITHER,
            numbers=_numbers(types, all_numbers, integers),
            strings=_ANY_STRING if "string" in types else None,
        )
    )


def _numbers(types: frozenset[str], all_numbers: Dfa, integers: Dfa) -> Dfa | None:
    if "number" in types:
        return all_numbers
    return integers if "integer" in types else None


def _types(schema: dict[str, Json]) -> frozenset[str]:
    given = schema.get("type")
    if isinstance(given, str) and given in _ALL_TYPES:
        return _ONE_TYPE[given]
    if given is None and "type" not in schema:
        return _ALL_TYPES
    names = given if isinstance(given, list) else [given]
    types = frozenset(name for name in names if isinstance(name, str))
    _check(bool(types) and types <= _ALL_TYPES and all(isinstance(name, str) for name in names))
    return types


def _strings(schema: dict[str, Json]) -> StringSet:
    if _OF_STRINGS.isdisjoint(schema):
        return _ANY_STRING
    name = schema.get("format", "")
    _check(isinstance(name, str) and name not in ENFORCED_FORMATS)
    low, high = _count(schema, "minLength"), _count(schema, "maxLength")
    _check(high is None or high >= (low or 0))
    return StringSet(None, low or 0, high)


def _num_digits(number: Decimal) -> int:
    _, digits, exponent = number.as_tuple()
    _check(isinstance(exponent, int) and abs(exponent) + len(digits) <= _MAX_DIGITS)
    return 2 * _MAX_DIGITS


def _count(schema: dict[str, Json], keyword: str) -> int | None:
    if keyword not in schema:
        return None
    given = schema[keyword]
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise _NotPlainError
    return given


def _check(is_plain: bool) -> None:
    if not is_plain:
        raise _NotPlainError
