"""Laws of context-free grammars, on random ones, against an Earley recogniser over characters."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from grammars.cfg.steps import CfgSteps
from grammars.compile import compile_grammar
from grammars.errors import UnsatisfiableError, UnsupportedError
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.cfg_states import CfgStates
from grammars.pushdown.tables import AutomatonTables
from tests.support.cfg_judge import CfgJudge
from tests.support.earley import recognises
from tests.support.random_grammars import grammars, productions, renamed, written
from tests.support.tokenizers import tiny_vocabulary

BYTES = tiny_vocabulary().token_bytes
SHORT_TEXTS = ["".join(text) for size in range(5) for text in product("abc", repeat=size)]


@settings(max_examples=60, deadline=None)
@given(grammars())
def test_a_text_is_accepted_exactly_when_earley_accepts_it(grammar):
    rules = productions(grammar)
    expected = {text for text in SHORT_TEXTS if recognises(rules, "root", text)}
    try:
        judge = CfgJudge(written(grammar, "gbnf"))
    except UnsatisfiableError:
        assert not expected
        return
    assert {text for text in SHORT_TEXTS if judge.accepts(text)} == expected
    for text in expected:
        assert all(judge.begins(text[:end]) for end in range(len(text)))


@settings(max_examples=25, deadline=None)
@given(grammars(), st.text("abc", min_size=6, max_size=14))
def test_a_longer_text_is_judged_as_earley_judges_it(grammar, text):
    try:
        judge = CfgJudge(written(grammar, "gbnf"))
    except UnsatisfiableError:
        reject()
    assert judge.accepts(text) == recognises(productions(grammar), "root", text)


@settings(max_examples=25, deadline=None)
@given(grammars(), st.integers(0, 2**32 - 1))
def test_masks_of_a_walk_equal_a_scan_of_the_vocabulary_and_are_never_empty(grammar, seed):
    vocabulary = tiny_vocabulary()
    spec = written(grammar, "gbnf")
    try:
        compiled = compile_grammar(spec, vocabulary)
    except UnsatisfiableError:
        reject()
    limits, tables = CompileLimits(), AutomatonTables()
    states = CfgStates(CfgSteps(spec, limits, frozenset(), tables.work), tables, limits)
    scanned = AutomatonGrammar(tables, states, states.root, vocabulary, way="reference").matcher()
    matcher = compiled.matcher()
    random = np.random.default_rng(seed)
    for _ in range(8):
        allowed = matcher.allowed_token_ids()
        assert allowed == scanned.allowed_token_ids()
        assert allowed
        token_id = int(random.choice(allowed))
        assert matcher.accept_token(token_id)
        assert scanned.accept_token(token_id)
        if matcher.is_terminated:
            break


@settings(max_examples=25, deadline=None)
@given(grammars(), st.integers(0, 2**32 - 1))
def test_rollback_undoes_tokens_and_forced_tokens_are_the_only_ones(grammar, seed):
    try:
        matcher = compile_grammar(written(grammar, "gbnf"), tiny_vocabulary()).matcher()
    except UnsatisfiableError:
        reject()
    random = np.random.default_rng(seed)
    masks, taken = [matcher.allowed_token_ids()], []
    for _ in range(6):
        if matcher.is_terminated:
            break
        forced = matcher.forced_tokens()
        if forced:
            assert not matcher.is_complete
            text = b"".join(map(BYTES.__getitem__, forced))
            for token_id in masks[-1]:
                size = min(len(text), len(BYTES[token_id]))
                assert text[:size] == BYTES[token_id][:size]
        taken.append(int(random.choice(masks[-1])))
        assert matcher.accept_token(taken[-1])
        masks.append(matcher.allowed_token_ids())
    matcher.rollback(len(taken))
    for mask, taken_id in zip(masks, [*taken, None], strict=True):
        assert matcher.allowed_token_ids() == mask
        if taken_id is not None:
            assert matcher.accept_token(taken_id)


@settings(max_examples=60, deadline=None)
@given(grammars())
def test_a_lexer_only_takes_texts_away_and_leaves_no_dead_end(grammar):
    rules = productions(grammar)
    try:
        judge = CfgJudge(written(grammar, "lark"))
    except (UnsatisfiableError, UnsupportedError):
        reject()
    for text in SHORT_TEXTS:
        if judge.accepts(text):
            assert recognises(rules, "root", text)
        elif judge.begins(text):
            assert any(judge.begins(text + following) for following in "abc")


@settings(max_examples=40, deadline=None)
@given(grammars(), st.sampled_from(["gbnf", "lark"]), st.booleans())
def test_how_letters_are_spelled_makes_no_difference(grammar, syntax, in_json_string):
    """Letters with the same first bytes, in UTF-8 and as JSON's escapes, are told apart whole."""
    letters = ('"', "\\", "\n") if in_json_string else ("é", "è", "ê")
    escapes = ('\\"', "\\\\", "\\n") if in_json_string else letters
    spec = written(
        renamed(grammar, dict(zip("abc", escapes, strict=True))),
        syntax,
        in_json_string=in_json_string,
    )
    try:
        plain = CfgJudge(written(grammar, syntax))
    except (UnsatisfiableError, UnsupportedError) as refusal:
        with pytest.raises(type(refusal)):
            CfgJudge(spec)
        return
    spelled = CfgJudge(spec)
    for text in SHORT_TEXTS:
        other = text.translate(str.maketrans("abc", "".join(letters)))
        if in_json_string:
            other = json.dumps(other)[1:-1]
        assert spelled.accepts(other) == plain.accepts(text)
        assert spelled.begins(other) == plain.begins(text)
