"""Automata of patterns have the languages that `re` and interegular say."""

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


def written_out(part, minimum, maximum):
    """A counted repetition without counts."""
    optional = ""
    for _ in range(maximum - minimum):
        optional = f"(?:(?:{part}){optional})?"
    return f"(?:{part})" * minimum + optional


@st.composite
def counted(draw, depth=1):
    """A pattern with repetitions in repetitions, and the same pattern without counts."""
    parts = [draw(st.sampled_from([(a, a) for a in ("a", "[ab]", "b*", "(?:a|bb)", "a?")]))]
    parts += [draw(counted(depth - 1)) for _ in range(draw(st.integers(0, 2)) if depth else 0)]
    parts = draw(st.permutations(parts))
    with_counts, without = ("".join(texts) for texts in zip(*parts, strict=True))
    minimum = draw(st.integers(0, 2))
    maximum = minimum + draw(st.integers(0, 3))
    pair = (f"(?:{with_counts}){{{minimum},{maximum}}}", written_out(without, minimum, maximum))
    tail = draw(st.sampled_from(["", "a", "b"]))
    return pair[0] + tail, pair[1] + tail


@given(counted())
@settings(max_examples=200, deadline=None)
def test_copies_that_others_stand_for_change_no_language(pair):
    with_counts, without = map(fullmatch, pair)
    assert with_counts.num_states == without.num_states
    assert with_counts.difference(without).is_empty
    assert without.difference(with_counts).is_empty
