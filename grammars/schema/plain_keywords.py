"""The keywords of plain schemas: what they say at a glance, or that they have to be read with care.

Each function reads what nothing can be wrong with and raises NotPlainError at anything else, which
may be malformed, or mean no value, or need a large automaton.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from grammars.schema.formats import ENFORCED_FORMATS
from grammars.schema.value import StringSet

if TYPE_CHECKING:
    from decimal import Decimal

    from grammars.schema.document import Json

SCALARS: Final = frozenset({"null", "boolean", "number", "string", "integer"})
OF_STRINGS: Final = frozenset({"minLength", "maxLength", "format"})
OF_NUMBERS: Final = frozenset({"minimum", "maximum"})

STATES_OF_CHARACTER: Final = 16
"""More states than a JSON string takes for any of its characters, escapes included, or a number for
any of its digits."""

BOUND_DIGITS: Final = 15
"""Digits of a bound."""

ANY_STRING: Final = StringSet()

_MAX_DIGITS: Final = 64
"""Digits of a listed number, on either side of the point."""

_ALL_TYPES: Final = SCALARS | {"object", "array"}
_ONE_TYPE: Final = MappingProxyType({name: frozenset((name,)) for name in _ALL_TYPES})


class NotPlainError(Exception):
    """A schema has to be read with care."""


def check(is_plain: bool) -> None:
    """Go on where a schema is plain so far."""
    if not is_plain:
        raise NotPlainError


def types_of(schema: dict[str, Json]) -> frozenset[str]:
    """The types that are asked for."""
    given = schema.get("type")
    if isinstance(given, str) and given in _ALL_TYPES:
        return _ONE_TYPE[given]
    if given is None and "type" not in schema:
        return _ALL_TYPES
    names = given if isinstance(given, list) else [given]
    types = frozenset(name for name in names if isinstance(name, str))
    check(bool(types) and types <= _ALL_TYPES and all(isinstance(name, str) for name in names))
    return types


def strings_of(schema: dict[str, Json]) -> StringSet:
    """The strings within bounds of the length."""
    if OF_STRINGS.isdisjoint(schema):
        return ANY_STRING
    name = schema.get("format", "")
    check(isinstance(name, str) and name not in ENFORCED_FORMATS)
    low, high = count_of(schema, "minLength"), count_of(schema, "maxLength")
    check(high is None or high >= (low or 0))
    return StringSet(None, low or 0, high)


def bounds_of(schema: dict[str, Json]) -> tuple[int | None, int | None]:
    """The least and the greatest number, the former no greater; None where there is none."""
    low, high = _bound_of(schema, "minimum"), _bound_of(schema, "maximum")
    check(low is None or high is None or low <= high)
    return low, high


def count_of(schema: dict[str, Json], keyword: str) -> int | None:
    """The count under a keyword; None where it is absent."""
    if keyword not in schema:
        return None
    given = schema[keyword]
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise NotPlainError
    return given


def num_digits(number: Decimal) -> int:
    """More digits than a listed number has."""
    _, digits, exponent = number.as_tuple()
    check(isinstance(exponent, int) and abs(exponent) + len(digits) <= _MAX_DIGITS)
    return 2 * _MAX_DIGITS


def _bound_of(schema: dict[str, Json], keyword: str) -> int | None:
    if keyword not in schema:
        return None
    given = schema[keyword]
    if not isinstance(given, int) or isinstance(given, bool) or abs(given) >= 10**BOUND_DIGITS:
        raise NotPlainError
    return given
