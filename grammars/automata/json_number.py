"""JSON numbers (RFC 8259, section 6) as byte DFAs: bounds, multiples and finite sets, by exact value."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from grammars.automata.dfa import Dfa


def number_dfa(
    *,
    integer: bool = False,
    minimum: Decimal | int | None = None,
    maximum: Decimal | int | None = None,
    exclusive_minimum: Decimal | int | None = None,
    exclusive_maximum: Decimal | int | None = None,
    multiple_of: Decimal | int | None = None,
    every_spelling: bool = False,
    max_states: int = 50_000,
) -> Dfa:
    """The numbers that satisfy all of the given bounds; an empty `Dfa` where there is none."""
    raise NotImplementedError


def numbers(values: Iterable[Decimal | int], *, every_spelling: bool = False) -> Dfa:
    """A finite set of numbers, by value."""
    raise NotImplementedError
