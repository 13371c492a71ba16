import re

import interegular
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.pattern_dfa import fullmatch, search

# Where ECMA-262 and Python mean the same: no \n in texts (Python's $ and .), ASCII classes.
ATOMS = ["a", "b", "c", ".", "[ab]", "[^a]", "[b-c]", r"\d", r"\w", r"\x61", "é", r"\u00e9"]
QUANTIFIERS = ["*", "+", "?", "*?", "{2}", "{1,}", "{0,2}", "{1,3}?"]


def patterns(leaves):
    def extend(inner):
        group = inner.map(lambda p: f"(?:{p})") | inner.map(lambda p: f"({p})")
        return (
            st.lists(group | leaves, min_size=1, max_size=3).map("".join)
            | st.lists(inner, min_size=2, max_size=3).map("|".join)
            | st.tuples(group | st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)).map("".join)
        )

    return st.recursive(leaves, extend, max_leaves=8)


plain_patterns = patterns(st.sampled_from(ATOMS))
anchored_patterns = patterns(st.sampled_from([*ATOMS, "^", "$"]))
texts = st.text(st.sampled_from("abcé1_ -"), max_size=6)


@given(plain_patterns, st.lists(texts, min_size=1, max_size=10))
@settings(max_examples=300, deadline=None)
def test_fullmatch_agrees_with_python(pattern, samples):
    dfa, oracle = fullmatch(pattern), re.compile(pattern, re.ASCII)
    for text in samples:
        assert dfa.accepts(text) == (oracle.fullmatch(text) is not None), text


@given(anchored_patterns, st.lists(texts, min_size=1, max_size=10))
@settings(max_examples=300, deadline=None)
def test_search_agrees_with_python_wherever_anchors_stand(pattern, samples):
    dfa, oracle = search(pattern), re.compile(pattern, re.ASCII)
    for text in samples:
        assert dfa.accepts(text) == (oracle.search(text) is not None), text


@given(plain_patterns.filter(lambda p: "\\u" not in p), st.lists(texts, min_size=1, max_size=10))
@settings(max_examples=100, deadline=None)
def test_fullmatch_agrees_with_interegular(pattern, samples):
    oracle = interegular.parse_pattern(pattern).to_fsm()
    dfa = fullmatch(pattern)
    for text in samples:
        assert dfa.accepts(text) == oracle.accepts(text), text


@given(plain_patterns)
@settings(max_examples=100, deadline=None)
def test_equal_languages_have_equal_automata(pattern):
    once, doubled = fullmatch(pattern), fullmatch(f"(?:{pattern})|(?:{pattern})")
    assert once.num_states == doubled.num_states
    assert once.difference(doubled).is_empty
    assert doubled.difference(once).is_empty
