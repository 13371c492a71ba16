"""Sketch: what is seen of a node at once, without making an automaton: a lower and an upper bound.

Conjunctions of `oneOf`, `not` and `if` are mostly about a few constants (`"kind": {"const": "a"}`).
Bounds made of finite sets and their complements tell that two such nodes exclude each other, or
that one lies inside the other, so that what nothing satisfies is never multiplied out.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.schema.document import Json
    from grammars.schema.value import Value

T = TypeVar("T", str, Decimal)


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """A finite set, or the complement of one.

    Args:
        items: the members, or what are none.
        is_complement: which of the two.
    """

    items: frozenset[T]
    is_complement: bool = False

    def __and__(self, other: Listed[T]) -> Listed[T]:
        if self.is_complement and other.is_complement:
            return Listed(self.items | other.items, is_complement=True)
        if self.is_complement or other.is_complement:
            finite, rest = (other, self) if self.is_complement else (self, other)
            return Listed(finite.items - rest.items)
        return Listed(self.items & other.items)

    def __invert__(self) -> Listed[T]:
        return Listed(self.items, not self.is_complement)

    def excludes(self, other: Listed[T]) -> bool:
        """Whether the sets have nothing in common."""
        if self.is_complement:
            return not other.is_complement and other.items <= self.items
        if other.is_complement:
            return self.items <= other.items
        return self.items.isdisjoint(other.items)

    def is_inside(self, other: Listed[T]) -> bool:
        """Whether the set is a part of the other."""
        if self.is_complement:
            return other.is_complement and other.items <= self.items
        if other.is_complement:
            return self.items.isdisjoint(other.items)
        return self.items <= other.items


@dataclass(frozen=True, slots=True)
class Bound:
    """A set of JSON values.

    Args:
        others: of "null", "true", "false", "object" and "array", the kinds that are in it whole.
        strings: which strings are in it.
        numbers: which numbers are in it.
    """

    others: frozenset[str]
    strings: Listed[str]
    numbers: Listed[Decimal]

    def __and__(self, other: Bound) -> Bound:
        return Bound(
            self.others & other.others, self.strings & other.strings, self.numbers & other.numbers
        )

    def __invert__(self) -> Bound:
        return Bound(_OTHERS - self.others, ~self.strings, ~self.numbers)

    def __or__(self, other: Bound) -> Bound:
        return ~(~self & ~other)

    def excludes(self, other: Bound) -> bool:
        """Whether the sets have nothing in common."""
        return (
            self.others.isdisjoint(other.others)
            and self.strings.excludes(other.strings)
            and self.numbers.excludes(other.numbers)
        )

    def is_inside(self, other: Bound) -> bool:
        """Whether the set is a part of the other."""
        return (
            self.others <= other.others
            and self.strings.is_inside(other.strings)
            and self.numbers.is_inside(other.numbers)
        )

    @property
    def constants(self) -> frozenset[object] | None:
        """All of its values, where they are a few scalars: names of kinds, strings and numbers."""
        if (
            self.others & {"object", "array"}
            or self.strings.is_complement
            or self.numbers.is_complement
        ):
            return None
        strings = {("string", text) for text in self.strings.items}
        return frozenset((*self.others, *strings, *self.numbers.items))


_OTHERS: Final = frozenset({"null", "true", "false", "object", "array"})
_NOTHING: Final = Bound(frozenset(), Listed(frozenset()), Listed(frozenset()))


@dataclass(frozen=True, slots=True)
class Sketch:
    """A set of JSON values between two bounds.

    Args:
        lower: all of it is in the set.
        upper: nothing else is.
    """

    lower: Bound
    upper: Bound

    def __and__(self, other: Sketch) -> Sketch:
        return Sketch(self.lower & other.lower, self.upper & other.upper)

    def __or__(self, other: Sketch) -> Sketch:
        return Sketch(self.lower | other.lower, self.upper | other.upper)

    def __invert__(self) -> Sketch:
        return Sketch(~self.upper, ~self.lower)

    def excludes(self, other: Sketch) -> bool:
        """Whether the sets surely have nothing in common."""
        return self.upper.excludes(other.upper)

    def is_inside(self, other: Sketch) -> bool:
        """Whether the set is surely a part of the other."""
        return self.upper.is_inside(other.lower)


NOTHING: Final = Sketch(_NOTHING, _NOTHING)
ANYTHING: Final = Sketch(~_NOTHING, ~_NOTHING)
UNKNOWN: Final = Sketch(_NOTHING, ~_NOTHING)


def sketch_of_constants(constants: Iterable[Json]) -> Sketch:
    """Exactly these values, as far as they are scalars."""
    strings: set[str] = set()
    numbers: set[Decimal] = set()
    others: set[str] = set()
    containers: set[str] = set()
    for constant in constants:
        match constant:
            case None:
                others.add("null")
            case bool():
                others.add("true" if constant else "false")
            case str():
                strings.add(constant)
            case int() | Decimal():
                numbers.add(Decimal(constant))
            case list():
                containers.add("array")
            case dict():
                containers.add("object")
    scalars = (Listed(frozenset(strings)), Listed(frozenset(numbers)))
    return Sketch(
        Bound(frozenset(others), *scalars), Bound(frozenset(others | containers), *scalars)
    )


def sketch_of_kinds(kinds: Iterable[str], restricted: Iterable[str]) -> Sketch:
    """All values of some kinds; of the restricted ones perhaps not all.

    Args:
        kinds: of "null", "true", "false", "object", "array", "string" and "number".
        restricted: likewise.
    """
    upper = frozenset(kinds)
    return Sketch(_bound_of_kinds(upper.difference(restricted)), _bound_of_kinds(upper))


def sketch_of_value(value: Value, everything: Value) -> Sketch:
    """What is seen of a value.

    Args:
        value: the value.
        everything: the value that all JSON values are in.
    """
    parts = {
        "null": (value.has_null, True),
        "true": (True in value.booleans, True),
        "false": (False in value.booleans, True),
        "string": (value.strings is not None, value.strings == everything.strings),
        "number": (value.numbers is not None, value.numbers is everything.numbers),
        "object": (bool(value.objects), value.objects == everything.objects),
        "array": (bool(value.arrays), value.arrays == everything.arrays),
    }
    return sketch_of_kinds(
        (kind for kind, (is_in, _) in parts.items() if is_in),
        (kind for kind, (_, is_whole) in parts.items() if not is_whole),
    )


def _bound_of_kinds(kinds: frozenset[str]) -> Bound:
    return Bound(
        kinds & _OTHERS,
        Listed(frozenset(), is_complement="string" in kinds),
        Listed(frozenset(), is_complement="number" in kinds),
    )
