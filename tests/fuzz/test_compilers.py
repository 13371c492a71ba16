"""Whatever is compiled is refused by name, or walks without a dead end; nothing crashes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.compile import compile_grammar
from grammars.errors import GrammarError
from grammars.spec import Cfg, JsonSchema, Regex
from tests.fuzz.budget import examples
from tests.fuzz.strategies import gbnf_texts, lark_texts, patterns, schemas
from tests.support.random_grammars import grammars, written
from tests.support.tokenizers import tiny_vocabulary

NUM_WALKS = 20
WALK_TOKENS = 40


def check(spec):
    vocabulary = tiny_vocabulary()
    try:
        grammar = compile_grammar(spec, vocabulary)
        grammar.matcher().fill_bitmask(np.zeros(vocabulary.num_words, np.int32))
    except GrammarError:
        return
    for seed in range(NUM_WALKS):
        walk(grammar.matcher(), vocabulary, random.Random(seed))


def walk(matcher, vocabulary, chance):
    """Take tokens that the mask allows; the shortest way to the end is known all the while."""
    row = np.zeros(vocabulary.num_words, np.int32)
    for _ in range(WALK_TOKENS):
        matcher.fill_bitmask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        assert len(allowed) > 0, "a dead end"
        token_id = int(chance.choice(allowed))
        if token_id in vocabulary.end_token_ids:
            assert matcher.is_complete
            return
        assert matcher.accept_token(token_id), f"token {token_id} was allowed, but is refused"
        assert matcher.min_tokens_to_complete() >= 0
        if matcher.is_terminated:
            return


@pytest.mark.parametrize("property_order", ["schema", "any"])
@examples(40)
@given(text=schemas())
def test_schemas(property_order, text):
    check(JsonSchema(text, property_order=property_order))


@examples(150)
@given(patterns())
def test_patterns(pattern):
    check(Regex(pattern))


@examples(100)
@given(gbnf_texts())
def test_gbnf(text):
    check(Cfg("gbnf", text))


@examples(100)
@given(lark_texts())
def test_lark(text):
    check(Cfg("lark", text))


@examples(25)
@given(grammars(), st.sampled_from(["gbnf", "lark"]))
def test_well_formed_grammars(grammar, syntax):
    check(written(grammar, syntax))
