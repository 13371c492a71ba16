"""Masks of real grammars over a real vocabulary: against a scan, and on walks to whole texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from grammars.cfg.steps import CfgSteps
from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.cfg_states import CfgStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Cfg
from tests.support.tokenizers import real_vocabulary

GRAMMARS = Path(__file__).resolve().parents[2] / "data" / "grammars"

# name -> a text with most of what the grammar has, of which a few places are looked at
TEXTS = {
    "json.gbnf": '{"a\\n": [1, -2.5e3, {"é": "日本"}],\n  "b": null}',
    "sql.lark": "SELECT COUNT(*), name FROM users WHERE age >= 18 AND NOT (id IN (1, 'b'));",
}


@pytest.fixture(scope="module")
def vocabulary():
    return real_vocabulary("smollm2")


def _spec(name: str) -> Cfg:
    text = (GRAMMARS / name).read_text(encoding="utf-8")
    return Cfg("gbnf" if name.endswith("gbnf") else "lark", text)


@pytest.mark.parametrize("name", TEXTS)
def test_masks_along_a_text_equal_a_scan_of_the_vocabulary(name, vocabulary):
    limits, tables = CompileLimits(), AutomatonTables()
    states = CfgStates(CfgSteps(_spec(name), limits, frozenset(), tables.work), tables, limits)
    scanned = AutomatonGrammar(tables, states, states.root, vocabulary, way="reference").matcher()
    matcher = compile_grammar(_spec(name), vocabulary).matcher()
    for place, token_id in enumerate(vocabulary.encode(TEXTS[name].encode())):
        if place % 15 == 4:  # a scan takes a second
            assert matcher.allowed_token_ids() == scanned.allowed_token_ids()
        assert matcher.accept_token(token_id)
        assert scanned.accept_token(token_id)
    assert matcher.is_complete


def test_random_walks_over_tokens_end_in_whole_texts(vocabulary):
    grammar = compile_grammar(_spec("json.gbnf"), vocabulary)
    random = np.random.default_rng(5)
    num_whole = 0
    for _ in range(30):
        matcher, text = grammar.matcher(), b""
        for _ in range(60):
            allowed = matcher.allowed_token_ids()
            assert allowed
            short = [t for t in allowed if len(vocabulary.token_bytes.get(t, b"")) == 1]
            token_id = int(random.choice(short or allowed))
            assert matcher.accept_token(token_id)
            text += vocabulary.token_bytes.get(token_id, b"")
            if matcher.is_complete:
                break
        if matcher.is_complete:
            num_whole += 1
            json.loads(text)
    assert num_whole >= 10


def test_what_has_one_way_on_is_forced(vocabulary):
    matcher = compile_grammar(
        Cfg("gbnf", 'root ::= "The answer is " ("yes" | "no") "."'), vocabulary
    ).matcher()
    forced = matcher.forced_tokens()
    text = b"".join(vocabulary.token_bytes[token_id] for token_id in forced)
    assert text.startswith(b"The answer is")
    assert all(map(matcher.accept_token, forced))
