"""The numba kernels of automata against the plain forms of the same algorithms."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata import reference
from grammars.automata.minimise import FIRST_ACCEPTING_KIND, minimise_table
from grammars.automata.subset import Nfa, determinise

NUM_SYMBOLS = 3


@st.composite
def nfas(draw):
    num_states = draw(st.integers(1, 7))
    state = st.integers(0, num_states - 1)
    symbol = st.integers(0, NUM_SYMBOLS - 1)
    epsilons = draw(st.lists(st.tuples(state, state), max_size=6))
    edges = draw(st.lists(st.tuples(state, symbol, symbol, state), max_size=12))
    epsilon_source, epsilon_target = np.array(epsilons, np.int32).reshape(-1, 2).T.copy()
    source, low, high, target = np.array(edges, np.int32).reshape(-1, 4).T.copy()
    return Nfa(
        num_states,
        draw(state),
        epsilon_source,
        epsilon_target,
        source,
        np.minimum(low, high),
        np.maximum(low, high),
        target,
        np.array(draw(st.lists(st.booleans(), min_size=num_states, max_size=num_states))),
        NUM_SYMBOLS,
    )


def canonical(nfa, table):
    """The minimal table of what a subset construction made, with reachable states in one order."""
    kind = np.zeros(table.next_state.shape[0], np.int32)
    kind[table.state_of_item()[nfa.accepting[table.set_items]]] = FIRST_ACCEPTING_KIND
    minimal = reference.minimise_table(table.next_state, table.start, kind)
    return minimal.next_state.tolist(), minimal.start, kind[minimal.old_state].tolist()


@given(nfas())
@settings(max_examples=400, deadline=None)
def test_the_subset_construction(nfa):
    fast = determinise(nfa, max_states=1000, what="a test")
    assert canonical(nfa, fast) == canonical(nfa, reference.determinise(nfa))


@given(nfas())
@settings(deadline=None)
def test_every_determinised_state_can_be_completed(nfa):
    table = determinise(nfa, max_states=1000, what="a test")
    live = set(table.state_of_item()[nfa.accepting[table.set_items]].tolist())
    while more := {s for s, row in enumerate(table.next_state) if live & set(row.tolist())} - live:
        live |= more
    assert live == set(range(1, table.next_state.shape[0]))


@st.composite
def tables(draw):
    num_states = draw(st.integers(1, 9))
    rows = st.lists(st.integers(0, num_states - 1), min_size=NUM_SYMBOLS, max_size=NUM_SYMBOLS)
    table = np.array(draw(st.lists(rows, min_size=num_states, max_size=num_states)), np.int32)
    table[0] = 0
    kinds = st.lists(st.integers(0, 3), min_size=num_states, max_size=num_states)
    kind = np.array(draw(kinds), np.int32)
    kind[0] = 0
    return table, draw(st.integers(0, num_states - 1)), kind


@given(tables())
@settings(max_examples=400, deadline=None)
def test_minimisation(case):
    table, start, kind = case
    fast, plain = minimise_table(table, start, kind), reference.minimise_table(table, start, kind)
    assert fast.next_state.tolist() == plain.next_state.tolist()
    assert fast.start == plain.start
    assert kind[fast.old_state].tolist() == kind[plain.old_state].tolist()


def test_states_that_cannot_accept_are_dropped_whatever_their_kind():
    table = np.array([[0], [2], [2]], np.int32)
    assert minimise_table(table, 1, np.array([0, 1, 1], np.int32)).start == 0
    assert reference.minimise_table(table, 1, np.array([0, 1, 1], np.int32)).start == 0
