"""NumberAlgebra: `and`, `or` and `not` of sets of numbers, and how numbers are written."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from grammars.automata import json_number, number_list, operations, pattern_dfa
from grammars.automata.scientific import scientific_numbers
from grammars.automata.utf8_text import utf8_dfa

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from grammars.automata.dfa import Dfa


class NumberAlgebra:
    """Operations on sets of numbers, as `Value.numbers` holds them; an empty set is None.

    Args:
        max_states: budget of each automaton.

    Attributes:
        everything: all numbers.
        integers: all integers.
    """

    def __init__(self, max_states: int) -> None:
        self._max_states = max_states
        self.everything: Dfa = json_number.number_dfa(spelling="every", max_states=max_states)
        self.integers: Dfa = json_number.number_dfa(
            integer=True, spelling="every", max_states=max_states
        )

    def intersect(self, a: Dfa | None, b: Dfa | None) -> Dfa | None:
        """The numbers in both sets."""
        if a is None or b is None or a is b or b is self.everything:
            return None if b is None else a
        if a is self.everything:
            return b
        both = operations.intersect(a, b, max_states=self._max_states)
        return None if both.is_empty else both

    def unite(self, a: Dfa | None, b: Dfa | None) -> Dfa | None:
        """The numbers in either set."""
        if a is None or b is None or a is b:
            return a if b is None else b
        if self.everything in (a, b):
            return self.everything
        return operations.union(a, b, max_states=self._max_states)

    def among(self, values: Iterable[Decimal]) -> Dfa:
        """Exactly these numbers, by value."""
        return number_list.numbers(values, spelling="every", max_states=self._max_states)

    def between(self, minimum: int | None, maximum: int | None, *, is_integer: bool) -> Dfa:
        """The numbers within bounds, which are no bounds where they are None."""
        return json_number.number_dfa(
            integer=is_integer,
            minimum=minimum,
            maximum=maximum,
            spelling="every",
            max_states=self._max_states,
        )

    def canonical(self, numbers: Dfa) -> Dfa:
        """How numbers of a set are generated.

        All numbers take every form of RFC 8259. Sets of integers are written as digits alone,
        others as plain decimals without needless zeros but for one after the point (`5.0`), and
        small ones also as `1.5e-07`.
        """
        if numbers is self.everything:
            return json_number.number_dfa()
        return _generated_numbers(numbers, self._max_states)

    def plain(self, numbers: Dfa) -> Dfa:
        """One spelling of each number: plain decimals without needless zeros, and no `-0`."""
        return operations.intersect(numbers, _plain_form(), max_states=self._max_states)

    def complement(self, numbers: Dfa | None) -> Dfa | None:
        """The numbers that are not in the set."""
        if numbers is None:
            return self.everything
        if numbers is self.everything:
            return None
        others = operations.difference(self.everything, numbers, max_states=self._max_states)
        return None if others.is_empty else others


@lru_cache(maxsize=256)
def _generated_numbers(numbers: Dfa, max_states: int) -> Dfa:
    integers = json_number.number_dfa(integer=True, spelling="every")
    others = operations.difference(numbers, integers, max_states=max_states)
    form = number_form(with_fraction=not others.is_empty)
    plain = operations.intersect(numbers, form, max_states=max_states)
    small = None if others.is_empty else scientific_numbers(numbers)
    return plain if small is None else operations.union(plain, small, max_states=max_states)


@lru_cache(maxsize=2)
def number_form(*, with_fraction: bool) -> Dfa:
    """Plain decimals as they are generated, without `-0`."""
    fraction = r"(?:\.(?:0|\d*[1-9]))?" if with_fraction else ""
    texts = pattern_dfa.fullmatch(rf"-?(?:0|[1-9]\d*){fraction}")
    zero = pattern_dfa.fullmatch(r"-0(?:\.0)?")
    return utf8_dfa(texts.difference(zero), max_states=10_000)


@lru_cache(maxsize=1)
def _plain_form() -> Dfa:
    texts = pattern_dfa.fullmatch(r"-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?")
    return utf8_dfa(texts.difference(pattern_dfa.fullmatch("-0")), max_states=10_000)
