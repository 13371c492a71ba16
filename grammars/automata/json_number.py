"""JSON numbers (RFC 8259, section 6) as byte automata: ranges, multiples and sets, by value.

Two spellings of a set of values, both plain decimals (no exponent):

canonical: what is generated. Integers are digits alone (no `1.0`, no `-0`); other numbers have an
    optional fraction, never `-0`; multiples of d have at most as many fraction digits as d.
    Without a step the number of fraction digits is not bounded, nor is that of the integer digits
    where there is no bound on that side.
every: all plain spellings of each value (`1`, `1.0`, `1.00`; `0`, `-0`, `-0.0`). Set operations on
    values are the byte operations of `operations` on these; intersect the result with a canonical
    set before generating. (On canonical spellings `difference` would be wrong: numbers minus
    integers would keep `1.0`.)

An unconstrained number is read in its full form, exponent included, whose values no finite
automaton can compare.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from grammars.automata.number_automaton import (
    EQUAL,
    GREATER,
    LESS,
    Step,
    any_number,
    compared_with,
    multiples,
    plain_decimals,
)
from grammars.automata.operations import intersect
from grammars.errors import InvalidGrammarError, LimitExceededError

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa

_Bound: TypeAlias = "tuple[Decimal, tuple[int, ...]]"
"""A number, and how others may be to it: LESS, EQUAL, GREATER."""

NumberSpelling: TypeAlias = Literal["canonical", "every"]

MAX_NUMBER_DIGITS: Final = 1000
"""Digits of a bound, a step or a listed value, in plain decimal form, at most."""


@lru_cache(maxsize=256)
def number_dfa(
    *,
    integer: bool = False,
    minimum: Decimal | int | None = None,
    maximum: Decimal | int | None = None,
    exclusive_minimum: Decimal | int | None = None,
    exclusive_maximum: Decimal | int | None = None,
    multiple_of: Decimal | int | None = None,
    spelling: NumberSpelling = "canonical",
    max_states: int = 50_000,
) -> Dfa:
    """The numbers that satisfy everything given (JSON Schema validation, section 6.2); label 1.

    Args:
        integer: only whole numbers, by value.
        minimum: the least value, exactly.
        maximum: the greatest value, exactly.
        exclusive_minimum: every value is greater; may be given beside `minimum`.
        exclusive_maximum: every value is less; may be given beside `maximum`.
        multiple_of: the value is a whole multiple of it, > 0.
        spelling: see the module; the full form with exponents is read only where nothing at all is
            asked and the spelling is canonical.
        max_states: states of the automaton before minimisation, at most.

    Returns:
        A minimal `Dfa`, shared between calls; the empty one if no number satisfies everything.

    Raises:
        InvalidGrammarError: multiple_of is not positive.
        LimitExceededError: more than `max_states` states, or more than MAX_NUMBER_DIGITS digits in
        a bound.
    """
    is_canonical = spelling == "canonical"
    bounds = tuple(
        (checked(bound), orders)
        for bound, orders in (
            (minimum, (EQUAL, GREATER)),
            (maximum, (LESS, EQUAL)),
            (exclusive_minimum, (GREATER,)),
            (exclusive_maximum, (LESS,)),
        )
        if bound is not None
    )
    step = None if multiple_of is None else _step(multiple_of, integer=integer)
    if not bounds and step is None and is_canonical and not integer:
        return any_number()
    max_fraction_digits = None
    if is_canonical and (integer or step is not None):
        max_fraction_digits = 0 if step is None else step.num_digits
    is_whole = step is None and integer
    result = _bounded(bounds, is_whole, is_canonical, max_fraction_digits, max_states)
    if step is not None:
        result = intersect(result, multiples(step, max_states=max_states), max_states=max_states)
    return result


@lru_cache(maxsize=256)
def _bounded(
    bounds: tuple[_Bound, ...],
    is_whole: bool,
    is_canonical: bool,
    max_fraction_digits: int | None,
    max_states: int,
) -> Dfa:
    """The decimals within bounds; many numbers of a schema share their first one, often 0."""
    if bounds:
        fewer = _bounded(bounds[:-1], is_whole, is_canonical, max_fraction_digits, max_states)
        return intersect(fewer, compared_with(*bounds[-1]), max_states=max_states)
    result = plain_decimals(
        max_fraction_digits=max_fraction_digits, has_negative_zero=not is_canonical
    )
    if not is_whole or is_canonical:
        return result
    return intersect(result, multiples(Step(1, 0), max_states=max_states), max_states=max_states)


def checked(value: Decimal | int) -> Decimal:
    """The value as a Decimal that can be written out.

    Raises:
        LimitExceededError: it has more than MAX_NUMBER_DIGITS digits.
    """
    if isinstance(value, int):
        if abs(value) >= 10**MAX_NUMBER_DIGITS:
            raise LimitExceededError("max_number_digits", MAX_NUMBER_DIGITS, "a number")
        return Decimal(value)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "JSON has neither NaN nor Infinity"
    if value and (value.adjusted() >= MAX_NUMBER_DIGITS or -exponent > MAX_NUMBER_DIGITS):
        raise LimitExceededError("max_number_digits", MAX_NUMBER_DIGITS, "a number")
    return value


def _step(multiple_of: Decimal | int, *, integer: bool) -> Step:
    """The step of the values: multiples of it are exactly the numbers asked for."""
    value = checked(multiple_of)
    if value <= 0:
        raise InvalidGrammarError("multipleOf must be greater than 0", keyword="multipleOf")
    numerator, denominator = value.as_integer_ratio()
    if integer:  # n = k * p / q in lowest terms is whole just when q divides k: the multiples of p
        return Step(numerator, 0)
    num_digits = 0
    while 10**num_digits % denominator:
        num_digits += 1
    return Step(numerator * 10**num_digits // denominator, num_digits)
