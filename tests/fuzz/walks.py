"""check: a constraint is refused by name, or its texts end; no step is a dead end."""

from __future__ import annotations

import random

import numpy as np

from grammars.compile import compile_grammar
from grammars.errors import GrammarError
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
