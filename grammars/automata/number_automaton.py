"""Automata of plain decimals: their form, their order to a bound, their remainder for a step.

Each reads a number digit by digit, most significant first, and says one thing about its value; a
set of numbers is an intersection of them. Only the form knows the syntax: the others skip leading
zeros and take digits, `-` and `.` as they come.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.dfa import DEAD
from grammars.automata.lexer import LexerBuilder
from grammars.automata.operations import difference, minimise
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Collection
    from decimal import Decimal

    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa

# Columns of the tables: everything else, '-', '.', then the ten digits.
_MINUS: Final = 1
_POINT: Final = 2
_DIGIT: Final = 3
_NUM_COLUMNS: Final = 13

LESS: Final = -1
EQUAL: Final = 0
GREATER: Final = 1

_DIGITS: Final = b"0123456789"


@dataclass(frozen=True, slots=True)
class Step:
    """The multiples of numerator / 10**num_digits, the numerator positive."""

    numerator: int
    num_digits: int


@lru_cache(maxsize=16)
def plain_decimals(*, max_fraction_digits: int | None, has_negative_zero: bool) -> Dfa:
    """The plain decimals: `-`, an integer part without leading zeros, a fraction of some digits.

    Args:
        max_fraction_digits: 0: no fraction and no point; None: no bound.
        has_negative_zero: whether `-0` and `-0.0` are among them.
    """
    builder = LexerBuilder(max_states=64 + (max_fraction_digits or 0))
    builder.accept(_add_decimal(builder, max_fraction_digits), 0)
    form = builder.determinise().dfa
    if has_negative_zero:
        return minimise(form)
    builder = LexerBuilder(max_states=64)
    state = builder.literal(builder.start, b"-0")
    builder.accept(state, 0)
    zeros = builder.literal(state, b".")
    builder.epsilon(builder.literal(zeros, b"0"), zeros)
    builder.accept(zeros, 0)
    return difference(form, builder.determinise().dfa)


@lru_cache(maxsize=1)
def any_number() -> Dfa:
    """Every JSON number in every form, exponents included."""
    builder = LexerBuilder(max_states=64)
    state = _add_decimal(builder, None)
    letter = builder.byte_class(state, b"eE")
    signed = builder.byte_class(letter, b"+-")
    builder.epsilon(letter, signed)
    digits = builder.byte_class(signed, _DIGITS)
    builder.epsilon(builder.byte_class(digits, _DIGITS), digits)
    builder.accept(state, 0)
    builder.accept(digits, 0)
    return minimise(builder.determinise().dfa)


def _add_decimal(builder: LexerBuilder, max_fraction_digits: int | None) -> int:
    """Read a plain decimal from the start; the state after it."""
    sign = builder.optional(builder.start, b"-")
    after = builder.literal(sign, b"0")
    integer = builder.range(sign, ord("1"), ord("9"))
    builder.epsilon(builder.byte_class(integer, _DIGITS), integer)
    builder.epsilon(integer, after)
    end = builder.new_state()
    builder.epsilon(after, end)
    if max_fraction_digits is None:
        digits = builder.byte_class(builder.literal(after, b"."), _DIGITS)
        builder.epsilon(builder.byte_class(digits, _DIGITS), digits)
        builder.epsilon(digits, end)
    elif max_fraction_digits > 0:
        state = builder.literal(after, b".")
        for _ in range(max_fraction_digits):
            state = builder.byte_class(state, _DIGITS)
            builder.epsilon(state, end)
    return end


def compared_with(bound: Decimal, orders: Collection[int]) -> Dfa:
    """The decimals whose order to `bound` is one of `orders` (LESS, EQUAL, GREATER); label 1.

    About three states for each digit of the bound.
    """
    integer, _, fraction = f"{bound.copy_abs():f}".partition(".")
    table, order = _comparison(integer.lstrip("0"), fraction.rstrip("0"))
    # After no sign, then after a minus: the comparison of magnitudes where signs agree (or the
    # bound is 0), else the answer is known.
    positive = (table, order) if bound >= 0 else _known(GREATER)
    negative = (table, -order) if bound <= 0 else _known(LESS)
    both, start_negative = _beside(positive[0], negative[0])
    both[1, _MINUS] = start_negative
    is_wanted = np.array([order in orders for order in (LESS, EQUAL, GREATER)], np.int32)
    label = is_wanted[np.concatenate((positive[1], negative[1][1:])) - LESS]
    label[DEAD] = 0
    return minimise(build_dfa(both, _COLUMN_OF_BYTE, label, 1))


def _beside(left: NDArray[np.int32], right: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """Both tables as one with a common DEAD; the number that the right one's state 1 got."""
    shift = left.shape[0] - 1
    moved = np.where(right == DEAD, DEAD, right + shift)[1:]
    return np.concatenate((left, moved)).astype(np.int32), shift + 1


def _known(order: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """The comparison whose answer is `order` whatever the digits."""
    table = np.zeros((2, _NUM_COLUMNS), np.int32)
    table[1, _POINT:] = 1
    return table, np.array((0, order), np.int8)


def _comparison(integer: str, fraction: str) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Compare a magnitude with a bound, given by its digits without needless zeros.

    Returns:
        The table, which begins in state 1, and the order of what has been read in each state. The
        states are

            1 + 3 k + order + 1   k integer digits read; they are less than, equal to or greater
            than the
                                  bound's first k (state 1 stands for "equal" when k = 0)
            longer                more integer digits than the bound has
            first_fraction + j    all of the bound's integer digits and j fraction digits read, all
            equal less, greater         decided, behind the point
    """
    num_integer, num_fraction = len(integer), len(fraction)
    longer = 3 * num_integer + 4
    first_fraction = longer + 1
    less = first_fraction + num_fraction + 1
    greater = less + 1
    table = np.zeros((greater + 1, _NUM_COLUMNS), np.int32)
    order = np.full(greater + 1, LESS, np.int8)

    def state(num_digits: int, order: int) -> int:
        return 3 * num_digits + order + 2 if num_digits else 1

    for k in range(num_integer + 1):
        for so_far in (LESS, EQUAL, GREATER) if k else (EQUAL,):
            row = table[state(k, so_far)]
            if k == num_integer:
                row[_DIGIT:] = longer
                row[_POINT] = (less, first_fraction, greater)[so_far + 1]
                order[state(k, so_far)] = so_far if so_far or not fraction else LESS
                continue
            row[_POINT] = less
            if so_far:
                row[_DIGIT:] = state(k + 1, so_far)
            else:
                _branch(row, int(integer[k]), [state(k + 1, o) for o in (LESS, EQUAL, GREATER)])
    table[1, _DIGIT] = 1  # a leading zero
    for j in range(num_fraction):
        _branch(
            table[first_fraction + j], int(fraction[j]), [less, first_fraction + j + 1, greater]
        )
    last = first_fraction + num_fraction
    _branch(table[last], 0, [less, last, greater])
    order[last] = EQUAL
    table[longer, _DIGIT:] = longer
    table[longer, _POINT] = greater
    table[less, _DIGIT:] = less
    table[greater, _DIGIT:] = greater
    order[[longer, greater]] = GREATER
    return table, order


def _branch(row: NDArray[np.int32], digit: int, targets: list[int]) -> None:
    """Fill the digit columns: those less than `digit`, `digit` itself, those greater."""
    row[_DIGIT : _DIGIT + digit] = targets[0]
    row[_DIGIT + digit] = targets[1]
    row[_DIGIT + digit + 1 :] = targets[2]


def multiples(step: Step, *, max_states: int) -> Dfa:
    """The decimals on `step`; label 1. Further fraction digits than the step's must be zeros.

    State 1 + j * numerator + r: j - 1 fraction digits read (j = 0: no point yet) with remainder r
    so far.

    Raises:
        LimitExceededError: numerator times (num_digits + 2) is more than `max_states`.
    """
    a, e = step.numerator, step.num_digits
    if a * (e + 2) > max_states:
        raise LimitExceededError("max_states", max_states, "a multipleOf")
    remainder = np.arange(a)
    after_digit = (10 * remainder[:, None] + np.arange(10)) % a
    table = np.zeros((1 + a * (e + 2), _NUM_COLUMNS), np.int32)
    label = np.zeros(table.shape[0], np.int32)
    for j in range(e + 2):
        rows = slice(1 + j * a, 1 + (j + 1) * a)
        num_fraction_digits = max(j - 1, 0)
        label[rows] = remainder * (10 ** (e - num_fraction_digits) % a) % a == 0
        if j == 0:
            table[rows, _DIGIT:] = 1 + after_digit
            table[rows, _POINT] = 1 + a + remainder
        elif j <= e:
            table[rows, _DIGIT:] = 1 + (j + 1) * a + after_digit
        else:
            table[rows, _DIGIT] = 1 + j * a + remainder
    table[1, _MINUS] = 1
    return minimise(build_dfa(table, _COLUMN_OF_BYTE, label, 1))


_COLUMN_OF_BYTE: Final = np.zeros(256, np.int32)
_COLUMN_OF_BYTE[ord("-")] = _MINUS
_COLUMN_OF_BYTE[ord(".")] = _POINT
_COLUMN_OF_BYTE[ord("0") : ord("9") + 1] = np.arange(_DIGIT, _NUM_COLUMNS)
