"""Automata over atoms: symbols that no edge tells apart are one, and arrays lie as kernels need."""

from __future__ import annotations

import numpy as np
import pytest

from grammars.automata import subset
from grammars.automata.atoms import nfa_over_atoms
from grammars.automata.pattern import parse_pattern
from grammars.cfg.spelling import UTF8
from grammars.cfg.terminals import terminal_dfa

EDGES = [[0, ord("a"), ord("f"), 1], [1, ord("d"), ord("z"), 0], [0, 300, 301, 1]]


@pytest.mark.parametrize("order", ["C", "F"])
def test_symbols_that_no_edge_tells_apart_are_one_atom(order):
    edges = np.array(EDGES, np.int32).T.copy(order=order)
    epsilons = np.array([[0, 1]], np.int32)
    nfa, atom = nfa_over_atoms(edges, epsilons, start=1, accepting=np.array([True, False]))
    assert len(atom) == 302
    assert [len(set(atom[list(part)])) for part in (b"abc", b"def", b"ghz", b"09{")] == [1, 1, 1, 2]
    assert len({*atom[list(b"adg0{")], atom[300]}) == nfa.num_symbols == 6
    assert (nfa.num_states, nfa.start, nfa.accepting.tolist()) == (2, 1, [True, False])
    assert (nfa.source.tolist(), nfa.target.tolist()) == ([0, 1, 0], [1, 0, 1])
    assert nfa.low.tolist() == atom[[ord("a"), ord("d"), 300]].tolist()
    assert nfa.high.tolist() == atom[[ord("f"), ord("z"), 301]].tolist()
    assert (nfa.epsilon_source.tolist(), nfa.epsilon_target.tolist()) == ([0], [1])
    for array in (nfa.source, nfa.target, nfa.epsilon_source, nfa.epsilon_target):
        assert array.flags.c_contiguous


@pytest.mark.parametrize("pattern", ["(?:ab|c)+", "[a-z]+x", "(?:a|[b-d])*e"])
def test_no_terminal_has_a_kernel_compiled_anew(pattern):
    terminal_dfa(parse_pattern("[0-9]+"), UTF8, max_states=100)
    determinise = vars(subset)["_determinise"]
    known = set(determinise.signatures)
    terminal_dfa(parse_pattern(pattern), UTF8, max_states=100)
    assert set(determinise.signatures) == known
