"""Real grammars in Lark, judged by ours and by the `lark` package with its contextual lexer."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import lark
import numpy as np
import pytest

from grammars.compile import compile_grammar
from grammars.spec import Cfg
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.cfg_judge import CfgJudge

GRAMMARS = Path(__file__).resolve().parents[2] / "data" / "grammars"
NAMES = ("json", "arithmetic", "sql", "statements")

TEXTS = {
    "json": ['{"a": [1, -2.5e3, {}], "b\\"": null}', "[]", "[[1] , 2]"],
    "arithmetic": ["x = -(1 + 2) * f(y, 3.5) ^ 2", "a-b/c", "f()"],
    "sql": [
        "SELECT COUNT(*), name FROM users WHERE age >= 18 AND NOT (id = 3 OR id IN (1, 2));",
        "SELECT * FROM t WHERE a IN (SELECT b FROM u) ORDER BY a DESC LIMIT 10;",
    ],
    "statements": [
        'DEF f(a, b) { IF (a < b && !c) { RETURN a; } ELSE { x = [1, "y\\n"]; } } f(1, 2);',
        "WHILE (x) { }\n# a comment\nx = 1;",
    ],
}


@cache
def _judge(name: str) -> CfgJudge:
    return CfgJudge(Cfg("lark", _text(name)))


@cache
def _parser(name: str) -> lark.Lark:
    return lark.Lark(_text(name), parser="lalr", lexer="contextual")


def _text(name: str) -> str:
    return (GRAMMARS / f"{name}.lark").read_text(encoding="utf-8")


def _lark_accepts(name: str, text: str) -> bool:
    try:
        _parser(name).parse(text)
    except lark.exceptions.LarkError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_both_accept_the_examples(name):
    for text in TEXTS[name]:
        assert _judge(name).accepts(text)
        assert _lark_accepts(name, text)


@pytest.mark.parametrize("name", NAMES)
def test_both_judge_texts_with_a_change_alike(name):
    random = np.random.default_rng(7)
    alphabet = sorted(set("".join(TEXTS[name])) - {" ", "\n"})
    for text in TEXTS[name]:
        for _ in range(60):
            at = int(random.integers(len(text)))
            change = str(random.choice(alphabet))
            kind = int(random.integers(3))  # put in, take out, replace
            changed = text[:at] + ("" if kind == 1 else change) + text[at + (kind > 0) :]
            changed = changed.strip()  # we ignore between terminals only, lark around them too
            assert _judge(name).accepts(changed) == _lark_accepts(name, changed), changed


@pytest.mark.parametrize("name", NAMES)
def test_lark_accepts_what_random_walks_write(name):
    grammar = compile_grammar(Cfg("lark", _text(name)), byte_vocabulary())
    random = np.random.default_rng(11)
    num_whole = 0
    for _ in range(12):
        matcher, text = grammar.matcher(), bytearray()
        while len(text) < 300 and not (matcher.is_complete and random.random() < 0.3):
            allowed = [t for t in matcher.allowed_token_ids() if t < 256]
            if not allowed:
                break
            token_id = int(random.choice(allowed))
            assert matcher.accept_token(token_id)
            text.append(token_id)
        if matcher.is_complete:
            num_whole += 1
            assert _lark_accepts(name, text.decode())
    assert num_whole
