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


def _each_class(count: int, num_members: int) -> str:
    """Classes of characters that do not touch, each another."""
    starts = (0x4000 + 2 * (i * 7919 % 4_000) for i in range(count))
    classes = ("".join(chr(first + 4 * i) for i in range(num_members)) for first in starts)
    return "|".join(f"[{members}]" for members in classes)


WORKING: dict[str, tuple[Syntax, Callable[[], str]]] = {
    "repetitions in repetitions of a text": (
        "gbnf",
        lambda: "root ::= " + "(" * 45 + '"a"' + ' "b")+' * 45,
    ),
    "repetitions in repetitions of rules": (
        "gbnf",
        lambda: "root ::= " + "(" * 45 + '"a" x' + ' "b")+' * 45 + '\nx ::= "(" x? ")"',
    ),
    "repetitions in repetitions in a regular expression": (
        "lark",
        lambda: "start: /" + "(" * 45 + "a" + "b)+" * 45 + "/",
    ),
    "a repetition of nothing in a regular expression": (
        "lark",
        lambda: "start: /(){1000000000}a/",
    ),
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
    "a large terminal in many places": (
        "lark",
        lambda: f'start: ({_each("T", 9_000)})*\nT: "{"a" * 50_000}b"',
    ),
    "letters of all scripts, up to a hundred": ("lark", lambda: r"start: /\p{L}{0,100}/"),
    "many terminals that read on": (
        "lark",
        lambda: _rules(f"start: ({_each('T{i}', 3_000)})*", "T{i}: /w{i}[a-z]+/", 3_000, 'X: "x"'),
    ),
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
    "terminals that double their states": (
        "max_states",
        "gbnf",
        lambda: 'root ::= "z"|' + _each('"{i}"[ab]*"a"[ab]{{12}}root', 1_000),
    ),
    "terminals of a lexer that double their states": (
        "max_states",
        "lark",
        lambda: "start: " + _each("/{i}[ab]*a[ab]{{12}}/", 1_000),
    ),
    "any characters, one after the other": (
        "max_states",
        "gbnf",
        lambda: "root ::= " + ". " * 100_000,
    ),
    "a literal of many different letters": (
        "max_states",
        "lark",
        lambda: f'start: "{"".join(map(chr, range(0x4E00, 0x9C20)))}"',
    ),
    "a repetition of nothing": ("max_states", "gbnf", lambda: 'root ::= (""){1000000000} "a"'),
    "properties of Unicode in one regular expression": (
        "max_grammar_parts",
        "lark",
        lambda: "start: /" + _each(r"[\p{{L}}{i}]", 5_000) + "/",
    ),
    "a long literal in any case": (
        "max_grammar_parts",
        "lark",
        lambda: f'start: "{"ab" * 400_000}"i',
    ),
    "classes in any case": (
        "max_grammar_parts",
        "lark",
        lambda: "start: /" + "".join(f"[{chr(0x100 + i)}-\u2fff]" for i in range(2_000)) + "/i",
    ),
    "classes of scattered characters": (
        "max_class_bounds",
        "gbnf",
        lambda: "root ::= " + _each_class(2_000, 20),
    ),
    "a text put in place in many rules": (
        "max_joined_parts",
        "gbnf",
        lambda: _rules(
            f'root ::= "z"|{_each("{i}", 3_000)}', '{i}::=x"{i}"root', 3_000, f'x::="{"a" * 500}"'
        ),
    ),
    "a terminal in many others": (
        "max_joined_parts",
        "lark",
        lambda: _rules("start: A", 'B{i}: A "b"', 1_000, f'A: "{"a" * 50_000}"'),
    ),
    "rules that call each other in first place": (
        "max_parse_items",
        "lark",
        lambda: _rules("start: r0", "r{i}: r{j}", 30_000, 'r30000: "a" start|"b"'),
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
