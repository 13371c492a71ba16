"""Residuals: what a state of an automaton reads, told alike in all automata."""

import pytest

from grammars.automata.dfa import DEAD, NO_LABEL, Dfa
from grammars.masks import slice_sources
from grammars.masks.slice_sources import SliceSources
from grammars.pushdown.word_lexers import member_lexer
from grammars.schema.plans import AllBut

KEYS = {"few": ("a",), "many": ("name", "names", "é", "type")}


def keys_lexer(keys: tuple[str, ...]) -> Dfa:
    """Of members after another, declared ones and others."""
    lexer = member_lexer((*keys, AllBut(frozenset(keys))), b" ")
    assert lexer is not None
    return lexer.dfa


def labels_on_the_way(dfa: Dfa, state: int, text: bytes) -> list[int | None]:
    """The label of each state that a text comes to, None where it is dead."""
    found: list[int | None] = []
    for byte in text:
        state = dfa.step(state, byte)
        found.append(None if state == DEAD else int(dfa.label[state]))
    return found


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("before", [b"", b",", b', "x', b', "n', b', "\xc3'])
@pytest.mark.parametrize("text", [b'ame": ', b'\xa9":', b', "a": ', b'\\u0001x": ', b'": '])
def test_a_residual_reads_what_the_state_reads(keys, before, text):
    dfa = keys_lexer(keys)
    state = dfa.run(before)
    residual = SliceSources(dfa).residual(state)
    cut, start = residual.cut_out(dfa)
    labels = (NO_LABEL, *residual.labels)
    read = [None if new is None else labels[new] for new in labels_on_the_way(cut, start, text)]
    assert read == labels_on_the_way(dfa, state, text)


def test_states_of_different_automata_that_read_the_same_have_one_key(monkeypatch):
    few, many = map(keys_lexer, KEYS.values())

    def key(dfa: Dfa, text: bytes) -> bytes:
        return SliceSources(dfa).residual(dfa.run(text)).key

    assert few.num_states < many.num_states
    assert key(few, b', "x') == key(many, b', "zz') != key(many, b', "n')
    monkeypatch.setattr(slice_sources, "MAX_RESIDUAL_STATES", 3)
    assert key(few, b', "x') != key(many, b', "zz')
