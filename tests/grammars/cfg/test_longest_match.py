"""Lexers take the longest match: dead ends that this would make are refused, others are none."""

from __future__ import annotations

import pytest

from grammars.cfg import longest_match
from grammars.cfg.follow import members
from grammars.errors import UnsupportedError
from grammars.spec import Cfg
from tests.support.cfg_judge import CfgJudge


@pytest.mark.parametrize(
    ("text", "terminal"),
    [
        ("start: A B\nA: /a+/\nB: /ab/", "A"),
        ("start: A A\nA: /[a-z]+/", "A"),
        ('start: (A "x")+\nA: /[a-z]+/', "A"),
        ('start: KEY A | A\nKEY: "if"\nA: /[a-z]+/', "KEY"),
        ("start: x A\nx: A | x A\nA: /a+/", "A"),
        ('start: "(" start ")" | A x\nx: "(" | "a"\nA: /[a(]+/', '"("'),
        ("start: A A\nA: /[a-z]+/\n%ignore /[a-z]/", "A"),
        ('start: A "b"\nA: /a/\n%ignore /[ b]+/', "/[ b]+/"),
    ],
)
def test_a_terminal_that_swallows_all_that_could_follow_is_refused(text, terminal):
    with pytest.raises(UnsupportedError) as caught:
        CfgJudge(Cfg("lark", text))
    assert str(caught.value) == (
        f"terminal {terminal}: where it ends, the lexer may take all that could follow for more of "
        "the same (the longest match is taken), so a text might never end; put a separator "
        "between them (or %ignore one), or make them one terminal"
    )


@pytest.mark.parametrize(
    ("text", "accepts", "rejects"),
    [
        ("start: A A\nA: /[a-z]+/\n%ignore / +/", ["a b"], ["ab"]),
        ('start: (A | "=")+\nA: /[a-z]+/', ["a=b", "ab", "=="], []),
        ("start: A+\nA: /[a-z]+/", ["abc"], [""]),
        ("start: H M\nH: /[0-9][0-9]/\nM: /[0-9][0-9]/", ["1234"], ["12", "123"]),
        ("start: A B\nA: /a*b/\nB: /a+/", ["aabaa"], ["aa"]),
        ('start: "(" start ")" | A\nA: /[a-z]+/', ["((ab))"], ["(a"]),
        ('start: A B\nA: /é+/\nB: "è"', ["éè", "ééè"], ["é", "è", "èé"]),
        ('start: A B A\nA: /[é😀]+/\nB: "è" | "😁"', ["éèé", "😀é😁😀"], ["éé", "😁"]),
        ('start: A x\nx: "b" | ";"\nA: /[a-z]+/', ["ab;", "abb;"], ["ab"]),
    ],
)
def test_a_grammar_without_such_a_place_is_read_by_longest_matches(text, accepts, rejects):
    judge = CfgJudge(Cfg("lark", text))
    assert [t for t in accepts if not judge.accepts(t)] == []
    assert [t for t in rejects if judge.accepts(t)] == []


def test_what_terminals_begin_with_is_found_once_a_set(monkeypatch):
    looked_at = []

    def counted(terminals):
        looked_at.append(terminals)
        return members(terminals)

    monkeypatch.setattr(longest_match, "members", counted)
    terminals = "\n".join(f"T{i}: /w{i}[a-z]+/" for i in range(50))
    names = "|".join(f"T{i}" for i in range(50))
    CfgJudge(Cfg("lark", f"start: ({names})*\n{terminals}"))
    assert len(looked_at) <= 2  # by all of them, and by none
