"""Lexers of several items: what each state has accepted; literals and keys side by side."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.codepoint_dfa import any_string
from grammars.automata.dfa import DEAD, NUM_BYTES
from grammars.automata.json_string import any_json_string, json_string
from grammars.automata.lexer import LexerBuilder
from grammars.automata.pattern_dfa import fullmatch
from grammars.automata.string_list import strings
from grammars.errors import LimitExceededError


def items_after(lexer, symbols):
    """The items that a text (bytes or a list of symbols) is accepted with."""
    state = lexer.dfa.start
    for symbol in symbols:
        state = lexer.dfa.step(state, symbol)
    label = int(lexer.dfa.label[state])
    return lexer.items[label - 1] if label else frozenset()


def test_literals_and_an_optional_space_end_in_states_that_may_go_on():
    builder = LexerBuilder(max_states=100)
    builder.accept(builder.optional(builder.literal(builder.start, b'"a":'), b" "), 0)
    builder.accept(builder.literal(builder.start, b'"ab":'), 1)
    lexer = builder.determinise()
    assert items_after(lexer, b'"a":') == {0}
    assert items_after(lexer, b'"a": ') == {0}
    assert items_after(lexer, b'"ab":') == {1}
    assert lexer.dfa.run(b'"a":  ') == DEAD
    assert lexer.dfa.step(lexer.dfa.run(b'"a":'), ord(" ")) != DEAD
    assert lexer.items == (frozenset({0}), frozenset({1}))


def test_a_text_that_several_items_accept_has_all_of_them():
    builder = LexerBuilder(max_states=100)
    builder.accept(builder.literal(builder.start, b"null"), 3)
    builder.accept(builder.byte_class(builder.literal(builder.start, b"nul"), b"lL"), 7)
    lexer = builder.determinise()
    assert items_after(lexer, b"null") == {3, 7}
    assert items_after(lexer, b"nulL") == {7}


def test_control_tokens_are_symbols_past_the_bytes():
    builder = LexerBuilder(max_states=100)
    state = builder.symbol(builder.literal(builder.start, b"x"), NUM_BYTES + 7)
    builder.accept(builder.literal(state, b"{"), 0)
    lexer = builder.determinise()
    assert items_after(lexer, [ord("x"), NUM_BYTES + 7, ord("{")]) == {0}
    assert items_after(lexer, [ord("x"), NUM_BYTES + 6, ord("{")]) == set()
    assert lexer.dfa.symbol_class.shape[0] == NUM_BYTES + 8


def test_declared_and_other_keys_stand_side_by_side():
    builder = LexerBuilder(max_states=1000)
    builder.accept(builder.literal(builder.start, b'"id":'), 0)
    others = json_string(strings(["id"]).complement())
    builder.accept(builder.literal(builder.embed(builder.start, others, counted=False), b":"), 1)
    lexer = builder.determinise()
    assert items_after(lexer, b'"id":') == {0}
    assert items_after(lexer, b'"ids":') == {1}
    assert items_after(lexer, '"é":'.encode()) == {1}
    assert not lexer.count_conflict
    assert not lexer.dfa.char_boundary.any()


def test_an_embedded_lexer_gives_its_labels_new_items():
    inner = LexerBuilder(max_states=100)
    inner.accept(inner.literal(inner.start, b"a"), 0)
    inner.accept(inner.literal(inner.start, b"b"), 1)
    inner.accept(inner.literal(inner.start, b"c"), 2)
    outer = LexerBuilder(max_states=100)
    outer.embed_labelled(
        outer.literal(outer.start, b"x"), inner.determinise().dfa, {1: [5], 2: [6]}
    )
    lexer = outer.determinise()
    assert items_after(lexer, b"xa") == {5}
    assert items_after(lexer, b"xb") == {6}
    assert lexer.dfa.run(b"xc") == DEAD  # nothing accepts there, so it is trimmed away


def test_a_counted_string_keeps_its_boundaries():
    builder = LexerBuilder(max_states=100)
    builder.accept(builder.embed(builder.start, any_json_string()), 0)
    builder.accept(builder.literal(builder.start, b"null"), 1)
    lexer = builder.determinise()
    assert not lexer.count_conflict
    assert not lexer.dfa.char_boundary[lexer.dfa.start]
    assert lexer.dfa.char_boundary[lexer.dfa.run(b'"a')]
    assert not lexer.dfa.char_boundary[lexer.dfa.run(b'"\\u00')]
    assert not lexer.dfa.char_boundary[lexer.dfa.run(b'"a"')]
    assert not lexer.dfa.char_boundary[lexer.dfa.run(b"nu")]


@pytest.mark.parametrize("other", [any_json_string(), json_string(strings(["auto"]))])
@pytest.mark.parametrize("counted", [True, False])
def test_a_counted_string_beside_another_text_is_reported(other, counted):
    builder = LexerBuilder(max_states=100)
    builder.accept(builder.embed(builder.start, any_json_string("canonical")), 0)
    builder.accept(builder.embed(builder.start, other, counted=counted), 1)
    assert builder.determinise().count_conflict


def test_counted_strings_that_never_meet_are_no_conflict():
    builder = LexerBuilder(max_states=200)
    for tag in (b"a", b"b"):
        state = builder.literal(builder.start, tag)
        builder.accept(builder.embed(state, any_json_string()), 0)
    assert not builder.determinise().count_conflict


def test_a_lexer_without_a_way_to_accept_is_empty():
    builder = LexerBuilder(max_states=100)
    builder.literal(builder.start, b"abc")
    builder.accept(builder.byte_class(builder.start, b""), 0)
    builder.accept(builder.embed(builder.start, json_string(fullmatch("[]"))), 1)
    lexer = builder.determinise()
    assert lexer.dfa.is_empty
    assert lexer.items == ()


def test_the_limit_is_counted_and_named():
    builder = LexerBuilder(max_states=10)
    builder.accept(builder.literal(builder.start, b"abcdefghijkl"), 0)
    with pytest.raises(LimitExceededError, match="max_states=10"):
        builder.determinise()


keys = st.text(st.sampled_from("abcde"), min_size=1, max_size=5)


@given(st.lists(keys, max_size=12), st.lists(keys, max_size=8))
@settings(deadline=None)
def test_many_literals_and_the_complement_of_their_names_share_out_all_strings(declared, samples):
    builder = LexerBuilder(max_states=10_000)
    for item, key in enumerate(declared):
        builder.accept(builder.literal(builder.start, f'"{key}"'.encode()), item)
    others = json_string(any_string().difference(strings(declared)))
    builder.accept(builder.embed(builder.start, others, counted=False), len(declared))
    lexer = builder.determinise()
    for key in declared + samples:
        expected = {item for item, other in enumerate(declared) if other == key}
        assert items_after(lexer, f'"{key}"'.encode()) == (expected or {len(declared)})


@given(st.booleans(), st.lists(st.text(st.sampled_from('a"é\\'), max_size=3), max_size=6))
@settings(deadline=None)
def test_a_lexer_of_one_automaton_is_as_if_there_were_others(counted, samples):
    content = json_string(fullmatch("(a|é.)*"))
    alone, among_others = LexerBuilder(1000), LexerBuilder(1000)
    for builder in (alone, among_others):
        builder.accept(builder.embed(builder.start, content, counted=counted), 7)
    among_others.accept(among_others.embed(among_others.start, json_string(fullmatch("[]"))), 8)
    one, other = alone.determinise(), among_others.determinise()
    assert one.items == other.items == (frozenset({7}),)
    assert one.count_conflict == other.count_conflict
    for sample in samples:
        spelling = json.dumps(sample, ensure_ascii=False).encode()
        for end in range(len(spelling) + 1):
            here, there = one.dfa.run(spelling[:end]), other.dfa.run(spelling[:end])
            assert one.dfa.label[here] == other.dfa.label[there]
            assert one.dfa.char_boundary[here] == other.dfa.char_boundary[there]
            assert (here == DEAD) == (there == DEAD)


def test_the_limit_holds_for_a_lexer_of_one_automaton_too():
    builder = LexerBuilder(max_states=3)
    builder.accept(builder.embed(builder.start, json_string(fullmatch("abc"))), 0)
    with pytest.raises(LimitExceededError, match="max_states=3"):
        builder.determinise()
