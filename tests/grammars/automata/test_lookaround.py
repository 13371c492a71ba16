r"""Anchors, word boundaries and lookarounds, against the backtracking `regex` package.

Patterns keep to what ECMA-262 and `regex` read alike: no \n in texts, ASCII classes.
"""

from itertools import product

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.pattern_dfa import fullmatch, search
from grammars.errors import LimitExceededError

LEAVES = ["a", "b", "_", "-", ".", "[ab]", "[^a]", r"\w", "^", "$", r"\b", r"\B"]
ATOMS = ["a", ".", "[^b]"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{0,2}", "{1,3}?"]
LOOKS = ["(?=", "(?!", "(?<=", "(?<!"]
TEXTS = ["".join(letters) for length in range(5) for letters in product("ab-_", repeat=length)]


def extended(inner):
    look = st.tuples(st.sampled_from(LOOKS), inner).map(lambda pair: f"{pair[0]}{pair[1]})")
    group = inner.map(lambda pattern: f"(?:{pattern})")
    return (
        st.lists(look | inner, min_size=1, max_size=3).map("".join)
        | st.lists(inner, min_size=2, max_size=2).map("|".join).map(lambda p: f"(?:{p})")
        | st.tuples(group | st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)).map("".join)
    )


patterns = st.recursive(st.sampled_from(LEAVES), extended, max_leaves=7)


@given(patterns)
@settings(max_examples=200, deadline=None)
def test_search_agrees_with_backtracking_on_every_short_text(pattern):
    dfa, oracle = search(pattern), regex.compile(pattern, regex.ASCII | regex.V0)
    assert [text for text in TEXTS if dfa.accepts(text) != (oracle.search(text) is not None)] == []


@given(patterns)
@settings(max_examples=100, deadline=None)
def test_fullmatch_agrees_with_backtracking_on_every_short_text(pattern):
    dfa, oracle = fullmatch(pattern), regex.compile(f"^(?:{pattern})$", regex.ASCII | regex.V0)
    assert [text for text in TEXTS if dfa.accepts(text) != (oracle.search(text) is not None)] == []


@pytest.mark.parametrize(
    ("pattern", "accepts", "rejects"),
    [
        ("^(?!tmp).+$", ["a", "tm", "xtmp"], ["", "tmp", "tmpx"]),
        ("^(?!tmp$).+$", ["tmpx"], ["tmp"]),
        ("^(?=.*[a-z])(?=.*[0-9]).{4,}$", ["abc1", "1abc"], ["abcd", "1234", "a1"]),
        ("^((?!ab)(?!AB).)*$", ["", "aAbB", "ba"], ["ab", "xABx"]),
        ("a(?=b)", ["ab", "xabx"], ["a", "ac"]),
        ("^a(?=b)$", [], ["a", "ab"]),
        ("^(?=a)(?!ab)", ["a", "ac"], ["", "ab", "b"]),
        ("(?<=a)b", ["ab"], ["b", "ba"]),
        ("(?<!a)b", ["b", "bb"], ["ab", ""]),
        ("(?<=a.*)b", ["ab", "axxb"], ["b", "ba"]),
        ("^x(?<=^x)y$", ["xy"], ["y"]),
        ("(?<!^.{0,2})c", ["abbc"], ["c", "abc", "abb"]),
        (r"\bword\b", ["word", "a word.", "é word"], ["sword", "words", "wor d"]),
        (r"\bword\b", ["éword"], ["_word"]),  # \w is ASCII
        (r"a\B", ["ab", "a_"], ["a", "a-"]),
        (r"^\B$", [""], ["a"]),
        (r"\b", ["a"], ["", "-"]),
        (r"^(?:\b\w+\b ?)+$", ["one two"], ["one  two", ""]),
        ("(?=a)*b", ["b"], ["a"]),
        ("(?=a){2}[^]", ["a"], ["b"]),
        ("(?:(?!--)[^])*$", ["--"], []),
        ("(?<=(?<!a)b)c", ["bc", "xbc"], ["abc", "c"]),
        ("(?=(?!ab)a.)", ["aa"], ["ab", "a"]),
        ("(?<=a(?=b))b", ["ab"], ["bb", "a"]),
        ("(?<!a(?=bb))b-", ["ab-", "b-"], ["abb", "-"]),
        ("(?!)", [], ["", "a"]),
        ("(?=)a|(?<=)b", ["a", "b"], ["c"]),
    ],
)  # fmt: skip
def test_a_lookaround_holds_where_ecma_262_says(pattern, accepts, rejects):
    dfa = search(pattern)
    assert [text for text in accepts if not dfa.accepts(text)] == []
    assert [text for text in rejects if dfa.accepts(text)] == []


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("(?:(?=.{0,300}x).)*y", "max_lookaround_places"),
        ("(?:(?=.*x.{15})(?!.*y.{9})[^])*$", "max_lookaround_places"),
        ("(?<=x.{20})y", "max_states"),
        ("".join(f"(?<=a.{{{i}}})" for i in range(1, 13)), "max_lookaround_cells"),
        ("^(?=(a|b)*a(a|b){30}$)", "max_states"),
        (r"(?:\b.(?<=a.{40})){9}", "max_states"),
    ],
)
def test_a_lookaround_that_costs_too_much_ends_at_a_counted_limit(pattern, limit):
    with pytest.raises(LimitExceededError) as caught:
        search(pattern)
    assert caught.value.limit == limit


def test_lookaheads_from_the_start_cost_no_more_than_an_intersection():
    password = search(r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[^\w]).{8,640}$")
    assert password.num_states < 16 * 641
    assert password.accepts("aB1-5678")
    assert not password.accepts("aB1x5678")
