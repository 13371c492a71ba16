"""Numbers as JSON writes them: sets and ranges hold by value, in every spelling."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.json_number import number_dfa
from grammars.automata.number_automaton import any_number
from grammars.automata.number_list import numbers
from grammars.automata.operations import difference, intersect, union
from grammars.errors import InvalidGrammarError, LimitExceededError

bounds = st.none() | st.integers(-120, 120) | st.decimals(-120, 120, places=2)
steps = st.none() | st.sampled_from([1, 2, 3, 7, 10, *map(Decimal, ["0.5", "0.01", "2.5", "0.3"])])
values = st.integers(-150, 150).map(Decimal) | st.decimals(-150, 150, places=3)
constraints = st.fixed_dictionaries(
    {
        "integer": st.booleans(),
        "minimum": bounds,
        "maximum": bounds,
        "exclusive_minimum": bounds,
        "exclusive_maximum": bounds,
        "multiple_of": steps,
    }
)


def satisfies(value, constraint):
    return (
        (not constraint["integer"] or value == int(value))
        and (constraint["minimum"] is None or value >= constraint["minimum"])
        and (constraint["maximum"] is None or value <= constraint["maximum"])
        and (constraint["exclusive_minimum"] is None or value > constraint["exclusive_minimum"])
        and (constraint["exclusive_maximum"] is None or value < constraint["exclusive_maximum"])
        and (constraint["multiple_of"] is None or value % constraint["multiple_of"] == 0)
    )


def canonical(value):
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return b"0" if value == 0 else text.encode()


@st.composite
def spelled_values(draw):
    value = draw(values)
    text = canonical(value).decode()
    zeros = "0" * draw(st.integers(0, 2))
    if zeros:
        text += zeros if "." in text else "." + zeros
    return value, ("-" if value == 0 and draw(st.booleans()) else "") + text


@given(constraints, st.lists(values, min_size=1, max_size=20))
@settings(max_examples=300, deadline=None)
def test_the_canonical_spelling_is_accepted_just_if_the_value_satisfies_all(constraint, samples):
    dfa = number_dfa(**constraint)
    for value in samples:
        assert dfa.accepts(canonical(value)) == satisfies(value, constraint), value


@given(constraints, st.lists(spelled_values(), min_size=1, max_size=20))
@settings(max_examples=300, deadline=None)
def test_every_spelling_is_judged_by_its_value(constraint, samples):
    every, generated = number_dfa(**constraint, spelling="every"), number_dfa(**constraint)
    for value, text in samples:
        assert every.accepts(text.encode()) == satisfies(value, constraint), text
        if generated.accepts(text.encode()):
            assert satisfies(value, constraint), text


@given(st.lists(values, max_size=6), st.lists(values, max_size=6), st.lists(spelled_values()))
@settings(deadline=None)
def test_finite_sets_and_their_combinations_go_by_value(left, right, samples):
    a, b = numbers(left, spelling="every"), numbers(right, spelling="every")
    for value, text in samples + [(v, canonical(v).decode()) for v in left + right]:
        data = text.encode()
        assert a.accepts(data) == (value in left)
        assert numbers(left).accepts(data) == (value in left and data == canonical(value))
        assert intersect(a, b).accepts(data) == (value in left and value in right)
        assert union(a, b).accepts(data) == (value in left or value in right)
        assert difference(a, b).accepts(data) == (value in left and value not in right)


@given(constraints, constraints, st.lists(spelled_values(), min_size=1, max_size=20))
@settings(deadline=None)
def test_ranges_combine_by_value(left, right, samples):
    a, b = number_dfa(**left, spelling="every"), number_dfa(**right, spelling="every")
    for value, text in samples:
        in_a, in_b = satisfies(value, left), satisfies(value, right)
        assert difference(a, b).accepts(text.encode()) == (in_a and not in_b)
        assert intersect(a, b).accepts(text.encode()) == (in_a and in_b)


@pytest.mark.parametrize(
    ("constraint", "accepts", "rejects"),
    [
        ({"exclusive_minimum": 0}, ["0.1", "1", "0.000001"], ["0", "-1", "-0", "0.0"]),
        ({"integer": True, "minimum": 2}, ["2", "10", "999"], ["1", "0", "-3", "2.0", "2e0", "02"]),
        ({"minimum": 1, "maximum": 5}, ["1", "5", "4.999", "5.0"], ["5.7", "0.99", "5.01", "1e0"]),
        ({"integer": True, "minimum": -5}, ["-5", "-1", "0", "7"], ["-6", "-10", "-", "-0"]),
        (
            {"integer": True, "multiple_of": 5, "minimum": 1, "maximum": 23},
            ["5", "10", "15", "20"],
            ["0", "25", "1", "-5"],
        ),
        ({"multiple_of": Decimal("0.01")}, ["0.01", "12.3", "-5"], ["0.001", "0.010", "1e0"]),
        ({"integer": True, "multiple_of": Decimal("2.5")}, ["0", "5", "-10"], ["2", "7"]),
        (
            {"integer": True, "minimum": -(2**53) + 1, "maximum": 2**53 - 1},
            ["9007199254740991", "-9007199254740991", "0"],
            ["9007199254740992", "-9007199254740992", "10000000000000000"],
        ),
        ({"maximum": Decimal("1e308")}, ["1" + "0" * 308, "5"], ["1" + "0" * 307 + "1"]),
        (
            {"exclusive_minimum": Decimal("1e-30")},
            ["0." + "0" * 29 + "2", "1"],
            ["0." + "0" * 29 + "1", "0"],
        ),
        ({"minimum": 0, "exclusive_minimum": 0}, ["0.5"], ["0"]),
        ({"integer": True}, ["0", "-1", "123"], ["-0", "1.0", "1e2", "00", "+1", ""]),
        (
            {"minimum": Decimal("-0.5"), "maximum": Decimal("0.5")},
            ["0", "-0.5", "0.25"],
            ["-0", "-0.0", "-0.51"],
        ),
    ],
)  # fmt: skip
def test_a_range_accepts_exactly_its_numbers(constraint, accepts, rejects):
    dfa = number_dfa(**constraint)
    assert [text for text in accepts if not dfa.accepts(text.encode())] == []
    assert [text for text in rejects if dfa.accepts(text.encode())] == []


@given(st.text(st.sampled_from("0123456789+-.eE"), max_size=8) | st.floats().map(str))
@settings(max_examples=300, deadline=None)
def test_an_unconstrained_number_is_every_json_number(text):
    try:
        is_number = not isinstance(json.loads(text, parse_constant=str), str)
    except ValueError:
        is_number = False
    assert any_number().accepts(text.encode()) == is_number
    assert number_dfa().accepts(text.encode()) == is_number


def test_contradicting_bounds_are_the_empty_language():
    assert number_dfa(minimum=3, maximum=2).is_empty
    assert number_dfa(integer=True, exclusive_minimum=3, exclusive_maximum=4).is_empty
    assert number_dfa(minimum=3, exclusive_maximum=3).is_empty
    assert not number_dfa(exclusive_minimum=3, exclusive_maximum=4).is_empty
    assert numbers([]).is_empty


def test_what_cannot_be_built_is_refused_by_name():
    with pytest.raises(InvalidGrammarError, match="multipleOf must be greater than 0"):
        number_dfa(multiple_of=0)
    with pytest.raises(LimitExceededError, match="a multipleOf needs more than max_states=50000"):
        number_dfa(multiple_of=10**6 + 1)
    with pytest.raises(LimitExceededError, match="max_number_digits=1000"):
        number_dfa(maximum=Decimal("1e400000"))
    with pytest.raises(LimitExceededError, match="max_number_digits=1000"):
        numbers([10**1001])
