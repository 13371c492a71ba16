"""LeastRest: how far the end of a text is, and that ends are found where it says they are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, reject, settings

from grammars.compile import compile_grammar
from grammars.errors import UnsatisfiableError
from grammars.spec import Cfg, Embed, Literal, Sequence, Structure
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.cfg_judge import CfgJudge
from tests.support.earley import recognises
from tests.support.random_grammars import grammars, productions, written
from tests.support.tokenizers import real_vocabulary

LONGEST = 5
TEXTS = ["".join(text) for size in range(LONGEST + 1) for text in product("abc", repeat=size)]

PROGRAM = r"""
root ::= statement+
statement ::= name " = " value ";\n" | "if (" value ") " block (" else " block)? | call ";\n"
  | "def " name "(" (name (", " name)*)? ") " block | "return " value ";\n"
block ::= "{\n" statement* "}\n"
value ::= sum ((" < " | " > " | " == ") sum)?
sum ::= product ((" + " | " - ") product)*
product ::= atom ((" * " | " / ") atom)*
atom ::= name | number | call | "(" value ")" | "[" (value (", " value)*)? "]" | "-" atom
call ::= name "(" (value (", " value)*)? ")"
name ::= [a-z] [a-z0-9_]*
number ::= [0-9]+
"""
DEEP = (
    "def f(a, b) {\nif (a < g(b, [1, (2 + h((3)))])) {\nx = f(a, -(b * [[y], (z)]));\n}\n else {\n"
    "if (x == (1 + (2 * (3 - (4))))) {\nreturn [[f([f(a, [b])])]];\n}\n}\n}\n"
)


@pytest.mark.parametrize(
    ("grammar", "beginning", "expected"),
    [
        ('root ::= "a" root "b" | "c"', "", 1),
        ('root ::= "a" root "b" | "c"', "aaa", 4),
        ('root ::= "a" root "b" | "c"', "aaac", 3),
        ('root ::= "a" root "b" | "c"', "aaacbbb", 0),
        ('root ::= x x "end"\nx ::= "long text" | "a" x', "a", 21),
        ('root ::= x x "end"\nx ::= "long text" | "a" x', "aalong text", 12),
        ("root ::= [€] [ab] | [a] [€] [€]", "", 4),
        ('root ::= root "b" root | [a]', "aba", 0),
        ('root ::= root "b" root | [a]', "abab", 1),
        ('root ::= ("(" x ")")+\nx ::= (root "abc")? [a]', "((a)", 5),
    ],
)
def test_it_is_what_the_shortest_text_still_needs(grammar, beginning, expected):
    assert CfgJudge(Cfg("gbnf", grammar)).least_rest(beginning) == expected


@settings(max_examples=60, deadline=None)
@given(grammars())
def test_no_text_ends_sooner_and_one_ends_then(grammar):
    try:
        judge = CfgJudge(written(grammar, "gbnf"))
    except UnsatisfiableError:
        reject()
    rules = productions(grammar)
    texts = [text for text in TEXTS if recognises(rules, "root", text)]
    for beginning in TEXTS[: len(TEXTS) // 9]:
        least = judge.least_rest(beginning)
        if least is not None:
            ends = [len(text) - len(beginning) for text in texts if text.startswith(beginning)]
            expected = least if len(beginning) + least <= LONGEST else None
            assert min(ends, default=None) == expected


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_program_in_gbnf_is_closed_from_anywhere_by_few_states(is_inside):
    """As in Lark, whose brackets are frames; here each depth has states of its own."""
    vocabulary = real_vocabulary("smollm2")
    spec = Cfg("gbnf", PROGRAM)
    inside = Structure(Sequence((Embed(spec), Literal("<|im_start|>"))))
    grammar = compile_grammar(inside if is_inside else spec, vocabulary)
    row = np.zeros(vocabulary.num_words, np.int32)
    tokens = vocabulary.encode(DEEP.encode())
    for place in range(0, len(tokens), 6):
        matcher = grammar.matcher()
        assert all(map(matcher.accept_token, tokens[:place]))
        tokens_left = matcher.min_tokens_to_complete()
        assert tokens_left < 60
        while not matcher.is_complete:
            matcher.fill_closing_bitmask(row, tokens_left)
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")
            assert matcher.accept_token(int(np.flatnonzero(bits)[0]))
            tokens_left -= 1
            assert matcher.min_tokens_to_complete() <= tokens_left
    assert grammar.num_states < 2_000


@pytest.mark.parametrize(("rule", "expected"), [("%s", 31), ('"(" %s ")"', 61)])
def test_an_ambiguous_grammar_with_a_lexer_is_closed_by_few_states(rule, expected):
    """Of each depth there are many sets of items; the end is where the least is still needed."""
    spec = Cfg("lark", f'start: root\nroot: x | "a"\nx: {rule}' % '"ab" root root+')
    grammar = compile_grammar(spec, byte_vocabulary())
    matcher = grammar.matcher()
    for byte in 30 * (b"(ab" if "(" in rule else b"ab"):
        assert matcher.accept_token(byte)
    assert matcher.min_tokens_to_complete() == expected
    assert grammar.num_states < 400
