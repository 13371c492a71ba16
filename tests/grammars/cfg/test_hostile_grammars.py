"""The hostile grammars: refused cleanly or right, never a crash, a dead end or a wrong language."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from grammars.compile import compile_grammar
from grammars.errors import GrammarError, LimitExceededError
from grammars.limits import CompileLimits
from grammars.spec import Cfg
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.shared_data import SHARED_DATA, shared_file

END = 256
REFUSED = {"g-repeat-1e9", "g-repeat-nested"}
"""Those that may be refused and are; all others work."""


def _cases() -> list[dict[str, Any]]:
    path = SHARED_DATA / "hostile" / "cases.jsonl"
    if not path.exists():
        return []
    cases = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [case for case in cases if case["kind"] == "grammar"]


def _text(case: dict[str, Any]) -> str:
    path = shared_file("hostile/expand.py")
    spec = importlib.util.spec_from_file_location("expand", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text: str = module.materialise(case).decode()
    return text


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case["id"])
def test_a_hostile_grammar_is_refused_or_right(case):
    expected = case["expected"]
    spec = Cfg("gbnf", _text(case))
    if expected["verdict"] == "reject" or case["id"] in REFUSED:
        with pytest.raises(GrammarError):
            compile_grammar(spec, byte_vocabulary())
        return
    grammar = compile_grammar(spec, byte_vocabulary())
    for texts, is_valid in (
        (expected.get("valid", []), True),
        (expected.get("invalid", []), False),
    ):
        for candidate in texts:
            matcher = grammar.matcher()
            is_read = all(map(matcher.accept_token, candidate.encode()))
            assert (is_read and matcher.is_complete) == is_valid, candidate
    matcher = grammar.matcher()
    for step in range(expected.get("steps", 60)):
        allowed = matcher.allowed_token_ids()
        assert allowed
        going_on = [token_id for token_id in allowed if token_id != END]
        if not going_on:
            break
        assert matcher.accept_token(going_on[step % len(going_on)])


def test_many_keywords_with_the_same_beginning_are_compared_together():
    keywords = [f"word{i}" for i in range(1_000)]
    spec = Cfg("lark", f"start: ({' | '.join(map(json.dumps, keywords))})+ /;/")
    grammar = compile_grammar(spec, byte_vocabulary())
    for text, is_valid in (
        ("word1word10word999;", True),
        ("word1000;", False),
        ("wordword1;", False),
    ):
        matcher = grammar.matcher()
        is_read = all(map(matcher.accept_token, text.encode()))
        assert (is_read and matcher.is_complete) == is_valid, text


@pytest.mark.parametrize("syntax", ["gbnf", "lark"])
def test_distinct_texts_are_counted(syntax):
    rules = {
        "gbnf": 'root ::= "a" s\ns ::= "b" root | "c" root | "d"',
        "lark": 'start: "a" s\ns: "b" start | "c" start | "d"',
    }
    spec = Cfg(syntax, rules[syntax])
    compile_grammar(spec, byte_vocabulary(), CompileLimits(max_terminals=4))
    with pytest.raises(LimitExceededError, match="a grammar needs more than max_terminals=3"):
        compile_grammar(spec, byte_vocabulary(), CompileLimits(max_terminals=3))
