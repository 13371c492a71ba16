"""Expanding ahead: counted work, and the same masks afterwards."""

from __future__ import annotations

from grammars.compile import compile_grammar
from grammars.spec import JsonSchema
from tests.support.tokenizers import tiny_vocabulary

SCHEMA = JsonSchema.from_value(
    {
        "type": "object",
        "properties": {
            name: {"type": "array", "items": {"enum": [1, name]}} for name in "abcdefgh"
        },
        "required": ["a", "d"],
        "additionalProperties": False,
    }
)
TEXT = b'{"a": [1, "a"], "d": [], "e": ["e"]}'


def test_work_is_counted_and_ends_where_nothing_is_missing():
    grammar = compile_grammar(SCHEMA, tiny_vocabulary())
    assert grammar.warm(0) == 0
    states = grammar.num_states
    assert grammar.warm(10) == 10
    assert states < grammar.num_states <= states + 20
    total = 10 + grammar.warm(10**6)
    assert total < 500
    assert grammar.warm(10**6) == 0


def test_a_text_after_it_makes_no_states_and_has_the_same_masks():
    warm, lazy = (compile_grammar(SCHEMA, tiny_vocabulary()) for _ in range(2))
    warm.warm(10**6)
    num_states = warm.num_states
    ahead, plain = warm.matcher(), lazy.matcher()
    for byte in TEXT:
        assert ahead.allowed_token_ids() == plain.allowed_token_ids()
        assert ahead.accept_token(byte)
        assert plain.accept_token(byte)
    assert warm.num_states == num_states


def test_a_grammar_without_end_is_expanded_as_far_as_the_budget_goes():
    endless = JsonSchema('{"type": "array", "prefixItems": [{"$ref": "#"}, true]}')
    assert compile_grammar(endless, tiny_vocabulary()).warm(50) <= 50


def test_it_ends_where_it_is_told_to():
    grammar = compile_grammar(SCHEMA, tiny_vocabulary())
    answers = iter([True, True, True, False])  # before each look; one of three finds nothing made
    assert grammar.warm(10**6, lambda: next(answers)) == 1
    assert grammar.warm(10**6) > 3


def test_what_texts_have_expanded_already_is_not_looked_at_for_long():
    names = [f"k{number}" for number in range(80)]
    schema = {"type": "object", "properties": dict.fromkeys(names, True), "required": names}
    grammar = compile_grammar(JsonSchema.from_value(schema), tiny_vocabulary())
    grammar.warm(10**6)
    num_looks = 0

    def goes_on() -> bool:
        nonlocal num_looks
        num_looks += 1
        return True

    assert grammar.warm(20, goes_on) == 0
    assert 20 < num_looks <= 8 * 20
