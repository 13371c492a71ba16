"""Union, intersection, difference and minimisation of automata, by the words they read."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.dfa import DEAD, NO_LABEL
from grammars.automata.json_string import any_json_string
from grammars.automata.lexer import LexerBuilder
from grammars.automata.operations import difference, intersect, minimise, union

words = st.binary(max_size=4).map(lambda data: bytes(byte % 3 + 97 for byte in data))


def of_words(members, *, loops=False):
    """The given words; with `loops` each may be followed by any number of its last byte."""
    builder = LexerBuilder(max_states=1000)
    for word in members:
        state = builder.literal(builder.start, word)
        if loops and word:
            builder.epsilon(builder.literal(state, word[-1:]), state)
        builder.accept(state, len(word))
    return builder.determinise().dfa


languages = st.tuples(st.frozensets(words, max_size=5), st.booleans()).map(
    lambda case: of_words(sorted(case[0]), loops=case[1])
)


@given(languages, languages, st.lists(words, min_size=1, max_size=10))
@settings(deadline=None)
def test_boolean_operations_are_those_of_membership(a, b, samples):
    both, either, rest = intersect(a, b), union(a, b), difference(a, b)
    for word in samples:
        in_a, in_b = a.accepts(word), b.accepts(word)
        assert both.accepts(word) == (in_a and in_b)
        assert either.accepts(word) == (in_a or in_b)
        assert rest.accepts(word) == (in_a and not in_b)


@given(languages, st.lists(words, min_size=1, max_size=10))
@settings(deadline=None)
def test_minimisation_keeps_labels_and_is_idempotent(a, samples):
    small = minimise(a)
    for word in samples:
        assert small.label[small.run(word)] == a.label[a.run(word)]
    assert small.num_states <= a.num_states
    again = minimise(small)
    assert again.next_state.tolist() == small.next_state.tolist()
    assert again.symbol_class.tolist() == small.symbol_class.tolist()


@given(languages, languages)
@settings(deadline=None)
def test_results_are_trimmed(a, b):
    for dfa in (intersect(a, b), union(a, b), difference(a, b)):
        live = set(np.flatnonzero(dfa.label != NO_LABEL).tolist())
        while more := {s for s in range(1, dfa.num_states) if live & {*dfa.next_state[s]}} - live:
            live |= more
        assert live == set(range(1, dfa.num_states))
        assert dfa.is_empty == (dfa.num_states == 1)
        assert (dfa.next_state[DEAD] == DEAD).all()
        assert (dfa.next_state[:, 0] == DEAD).all()


def test_boundaries_of_json_strings_survive():
    for dfa in (
        minimise(any_json_string()),
        intersect(any_json_string(), any_json_string("canonical")),
        union(any_json_string(), of_words([b"null"])),
    ):
        assert dfa.char_boundary[dfa.run(b'"a')]
        assert not dfa.char_boundary[dfa.run(b'"a"')]


def test_control_tokens_are_combined_too():
    builder = LexerBuilder(max_states=10)
    builder.accept(builder.symbol(builder.start, 300), 0)
    control = builder.determinise().dfa
    either = union(control, of_words([b"a"]))
    assert either.label[either.step(either.start, 300)] != NO_LABEL
    assert either.accepts(b"a")
    assert intersect(control, of_words([b"a"])).is_empty
