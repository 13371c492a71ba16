"""Sets of strings as automata over code points: a boolean algebra, with lengths in characters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.codepoint_dfa import any_string, any_string_of_length
from grammars.automata.pattern_dfa import fullmatch
from grammars.automata.string_list import strings
from grammars.errors import LimitExceededError

texts = st.text(st.sampled_from("abé😀"), max_size=4)
finite_sets = st.frozensets(texts, max_size=8)
languages = finite_sets.map(strings) | st.sampled_from(
    ["a*", "[^a]*", "(ab|é)*", ".*b.*", "", "[]"]
).map(fullmatch)


@given(finite_sets, st.lists(texts, max_size=10))
@settings(deadline=None)
def test_a_set_of_strings_holds_exactly_those(members, samples):
    dfa = strings(members)
    for text in [*members, *samples]:
        assert dfa.accepts(text) == (text in members)


@given(languages, languages, st.lists(texts, min_size=1, max_size=10))
@settings(deadline=None)
def test_boolean_operations_are_those_of_membership(a, b, samples):
    for text in samples:
        in_a, in_b = a.accepts(text), b.accepts(text)
        assert a.intersect(b).accepts(text) == (in_a and in_b)
        assert a.union(b).accepts(text) == (in_a or in_b)
        assert a.difference(b).accepts(text) == (in_a and not in_b)
        assert a.complement().accepts(text) == (not in_a)


@given(languages, languages)
@settings(deadline=None)
def test_the_laws_of_a_boolean_algebra_hold(a, b):
    def same(x, y):
        assert x.difference(y).is_empty
        assert y.difference(x).is_empty
        assert x.num_states == y.num_states  # both are minimal

    same(a.complement().complement(), a)
    same(a.union(b).complement(), a.complement().intersect(b.complement()))
    same(a.difference(b), a.intersect(b.complement()))
    same(any_string().difference(a), a.complement())
    assert a.intersect(a.complement()).is_empty
    same(a.union(a.complement()), any_string())


@given(languages, st.integers(0, 3), st.none() | st.integers(0, 4), st.lists(texts, min_size=1))
@settings(deadline=None)
def test_a_length_counts_characters(a, minimum, maximum, samples):
    restricted = a.with_length(minimum, maximum)
    for text in samples:
        fits = minimum <= len(text) and (maximum is None or len(text) <= maximum)
        assert restricted.accepts(text) == (a.accepts(text) and fits)


@given(languages, st.integers(0, 6), st.none() | st.integers(0, 6))
@settings(deadline=None)
def test_a_length_is_the_intersection_with_all_strings_of_it(a, minimum, maximum):
    restricted = a.with_length(minimum, maximum)
    plain = a.intersect(any_string_of_length(minimum, maximum))
    assert restricted.num_states == plain.num_states  # both are minimal
    assert restricted.difference(plain).is_empty
    assert plain.difference(restricted).is_empty


def test_a_length_that_changes_nothing_gives_the_same_object():
    codes = strings(["abc", "de"])
    assert codes.with_length(2, 3) is codes
    assert any_string().with_length() is any_string()


def test_an_impossible_length_is_the_empty_language():
    assert any_string_of_length(3, 2).is_empty
    assert any_string().with_length(0, 0).accepts("")


def test_no_automaton_reads_a_lone_surrogate():
    for dfa in (any_string(), fullmatch("[^a]"), strings(["a"]).complement()):
        assert not dfa.accepts("\ud800")
    assert strings(["\ud800", "a\udfff"]).is_empty


def test_limits_are_counted_and_named():
    with pytest.raises(LimitExceededError, match="max_states=100"):
        any_string().with_length(0, 100, max_states=100)
    with pytest.raises(LimitExceededError, match="max_states=100"):
        fullmatch("(?:a|bc)*d").with_length(0, 100, max_states=100)
    with pytest.raises(LimitExceededError, match="max_states=100"):
        any_string().with_length(0, 1_000_000, max_states=100)
    with pytest.raises(LimitExceededError, match="max_states=10"):
        strings(["abcdefghijkl"], max_states=10)
    with pytest.raises(LimitExceededError, match="max_states=20"):
        fullmatch("(?:a{7})*").intersect(fullmatch("(?:a{5})*"), max_states=20)


def test_shared_suffixes_of_a_hundred_thousand_strings_are_states_once():
    dfa = strings([f"{number:05}" for number in range(100_000)])
    assert dfa.num_states - 1 == 6
    assert dfa.accepts("04711")
    assert not dfa.accepts("4711")
