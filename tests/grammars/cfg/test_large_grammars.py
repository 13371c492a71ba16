"""Grammars of up to a megabyte: each compiles, or a limit that has a name refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from grammars.compile import compile_grammar
from grammars.errors import LimitExceededError
from grammars.spec import Cfg
from tests.support.byte_vocabulary import byte_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

Syntax = Literal["gbnf", "lark"]


def _rules(start: str, rule: str, count: int, last: str) -> str:
    """A start, rules in which {i} is a number and {j} the next one, and the last rule."""
    rules = (rule.format(i=i, j=i + 1) for i in range(count))
    return "\n".join((start, *rules, last))


def _each(pattern: str, count: int, separator: str = "|") -> str:
    return separator.join(pattern.format(i=i) for i in range(count))


WORKING: dict[str, tuple[Syntax, Callable[[], str]]] = {
    "a chain of names": (
        "gbnf",
        lambda: _rules("root ::= 0", "{i}::={j}", 20_000, '20000 ::= "z"'),
    ),
    "words": ("gbnf", lambda: "root ::= " + _each('"w{i}"', 20_000)),
    "words before more of the same": (
        "gbnf",
        lambda: 'root ::= "z"|' + _each('"w{i}"root', 3_500),
    ),
    "a long literal": ("gbnf", lambda: f'root ::= "{"a" * 90_000}"'),
    "comments": ("gbnf", lambda: 'root ::= "a"\n' + "#\n" * 100_000),
    "repetitions inside repetitions": ("gbnf", lambda: 'root ::= ("a"{0,100} "b"){0,100}'),
    "many terminals, again and again": (
        "lark",
        lambda: _rules(f"start: ({_each('T{i}', 3_000)})*", 'T{i}: "w{i}"', 3_000, 'X: "x"'),
    ),
}

REFUSED: dict[str, tuple[str, Syntax, Callable[[], str]]] = {
    "dots": ("max_grammar_parts", "gbnf", lambda: "root ::= " + "." * 200_000),
    "bars": ("max_grammar_parts", "gbnf", lambda: 'root ::= "a"' + "|" * 200_000),
    "bars of Lark": ("max_grammar_parts", "lark", lambda: 'start: "a"' + "|" * 200_000),
    "rules that choose": (
        "max_choice_states",
        "gbnf",
        lambda: _rules("root ::= 0", '{i}::="a"{j}|"b"', 6_000, "6000::=0"),
    ),
    "sequences repeated in each rule": (
        "max_choice_states",
        "gbnf",
        lambda: _rules('root ::= "b" 0', "{i}::={j}{{50000}}", 10, '10::="a" root'),
    ),
    "rules that may all be empty in a row": (
        "max_rule_edges",
        "gbnf",
        lambda: _rules(
            f"root ::= {_each('{i}', 1_000, ' ')}", '{i}::="a"root|""', 1_000, 'x::="x"'
        ),
    ),
    "different rules in one that repeats": (
        "max_states",
        "gbnf",
        lambda: _rules(
            f'root ::= "z"|({_each("{i}", 7_000, " ")})*', '{i}::="a"root', 7_000, 'x::="x"'
        ),
    ),
    "terminals repeated": (
        "max_states",
        "gbnf",
        lambda: 'root ::= "z"|' + _each('"{i}"{{9000}}root', 60),
    ),
    "a class of many ranges": (
        "max_states",
        "lark",
        lambda: f"start: /[{''.join(chr(0x4000 + 2 * i) for i in range(20_000))}]{{2000}}/",
    ),
    "terminals": ("max_terminals", "lark", lambda: "start: " + _each('"w{i}"', 5_000)),
}


@pytest.mark.parametrize("name", WORKING)
def test_a_large_grammar_works(name):
    syntax, text = WORKING[name]
    assert compile_grammar(Cfg(syntax, text()), byte_vocabulary()).matcher().allowed_token_ids()


@pytest.mark.parametrize("name", REFUSED)
def test_a_grammar_that_is_too_large_is_refused_by_the_name_of_a_limit(name):
    limit, syntax, text = REFUSED[name]
    with pytest.raises(LimitExceededError) as refusal:
        compile_grammar(Cfg(syntax, text()), byte_vocabulary())
    assert refusal.value.limit == limit
