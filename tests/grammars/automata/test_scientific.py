"""Small numbers as `1.5e-07`: the numbers of the set, and no others."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from grammars.automata.json_number import number_dfa
from grammars.automata.number_list import numbers
from grammars.automata.operations import difference
from grammars.automata.scientific import scientific_numbers

FORM = re.compile(r"-?[1-9](\.(0|\d*[1-9]))?e-(0?[5-9]|[1-9]\d)")
TEXTS = [
    f"{sign}{mantissa}e{exponent}"
    for sign in ("", "-")
    for mantissa in ("1", "1.5", "2.5", "3.25", "3.26", "9.99", "1.0", "1.50", "0", "10", "01", "5")
    for exponent in ("-05", "-5", "-06", "-6", "-7", "-08", "-10", "-99", "-100", "-4", "-006")
]  # fmt: skip

SETS = {
    "above zero": number_dfa(exclusive_minimum=0, spelling="every"),
    "at most a millionth": number_dfa(maximum=Decimal("1e-6"), spelling="every"),
    "between": number_dfa(minimum=Decimal("-2.5e-7"), maximum=Decimal("3.25e-8"), spelling="every"),
    "multiples": number_dfa(multiple_of=Decimal("5e-7"), spelling="every"),
    "listed": numbers([Decimal("1e-6"), Decimal("2.5e-10"), 3], spelling="every"),
    "not listed": difference(
        number_dfa(minimum=-1, spelling="every"), numbers([Decimal("1.5e-7")], spelling="every")
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_small_numbers_are_in_the_set_by_value(name):
    small = scientific_numbers(SETS[name])
    assert small is not None
    expected = [
        text
        for text in TEXTS
        if FORM.fullmatch(text) and SETS[name].accepts(f"{Decimal(text):f}".encode())
    ]
    assert [text for text in TEXTS if small.accepts(text.encode())] == expected
    assert len(expected) > 0


@pytest.mark.parametrize("bounds", [{"minimum": 1}, {"integer": True}, {"multiple_of": 2}])
def test_sets_without_small_numbers_have_none_in_this_form(bounds):
    assert scientific_numbers(number_dfa(**bounds, spelling="every")) is None
