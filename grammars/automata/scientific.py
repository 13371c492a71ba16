"""scientific_numbers: the small numbers of a set as `1.5e-07`, the way serialisers write them.

An automaton cannot compare numbers with any exponent. But a number d.ddde-N with one digit before
the point is the plain decimal 0.00...0dddd with N - 1 zeros: what an automaton of plain decimals
reads after these zeros it reads as a mantissa. So any set of numbers, however it came about, has
its small numbers in this form too, exactly.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from grammars.automata.dfa import DEAD, NO_LABEL
from grammars.automata.lexer import LexerBuilder
from grammars.automata.operations import minimise

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa

FIRST_EXPONENT: Final = 5
"""Python writes 0.0001 and 1e-05; JavaScript begins at 1e-7."""

LAST_EXPONENT: Final = 99

_MAX_STATES: Final = 50_000


@lru_cache(maxsize=256)
def scientific_numbers(numbers: Dfa) -> Dfa | None:
    """The numbers of a set below 10**-4 in scientific form; None where there are none.

    One digit that is not 0, perhaps a fraction without needless zeros (or `.0`), `e-`, and an
    exponent of FIRST_EXPONENT .. LAST_EXPONENT, in one digit or two.

    Args:
        numbers: all plain spellings of its values (`json_number`, "every").

    Raises:
        LimitExceededError: the result has too many states.
    """
    builder = LexerBuilder(_MAX_STATES)
    is_empty = True
    for sign in (b"", b"-"):
        state = numbers.run(sign + b"0." + b"0" * (FIRST_EXPONENT - 1))
        exponents: dict[int, list[int]] = {}  # state after the zeros -> exponents that lead there
        for exponent in range(FIRST_EXPONENT, LAST_EXPONENT + 1):
            if state != DEAD:
                exponents.setdefault(state, []).append(exponent)
            state = numbers.step(state, ord("0"))
        start = builder.literal(builder.start, sign)
        for first, among in exponents.items():
            end = _add_mantissa(builder, start, numbers, first)
            is_empty &= end is None
            if end is not None:
                _add_exponent(builder, end, among)
    return None if is_empty else minimise(builder.determinise().dfa)


def _add_mantissa(builder: LexerBuilder, start: int, numbers: Dfa, first: int) -> int | None:
    """Read the digits that lead from state `first` to an end, with a point after the first one.

    Returns:
        The state after them; None where there are none.
    """
    end = builder.new_state()
    after_point: dict[int, int] = {}
    pending: list[int] = []

    def following(state: int) -> int:
        if state not in after_point:
            after_point[state] = builder.new_state()
            pending.append(state)
        return after_point[state]

    is_empty = True
    for digit in b"123456789":
        state = numbers.step(first, digit)
        if state == DEAD:
            continue
        is_empty = False
        read = builder.symbol(start, digit)
        point = builder.symbol(read, ord("."))
        builder.epsilon(point, following(state))
        if numbers.label[state] != NO_LABEL:
            builder.epsilon(read, end)
            builder.epsilon(builder.symbol(point, ord("0")), end)
    for state in pending:  # grows while it is read
        for digit in b"0123456789":
            target = numbers.step(state, digit)
            if target != DEAD:
                read = builder.symbol(following(state), digit)
                builder.epsilon(read, following(target))
                if digit != ord("0") and numbers.label[target] != NO_LABEL:
                    builder.epsilon(read, end)
    return None if is_empty else end


def _add_exponent(builder: LexerBuilder, state: int, exponents: list[int]) -> None:
    state = builder.literal(state, b"e-")
    tens: dict[int, list[int]] = {}
    for exponent in exponents:
        tens.setdefault(exponent // 10, []).append(ord("0") + exponent % 10)
    for ten, ones in tens.items():
        before = builder.symbol(state, ord("0") + ten)
        if ten == 0:
            builder.epsilon(state, before)
        builder.accept(builder.byte_class(before, ones), 0)
