"""Random walks: what compiles has no dead end, and each of its texts can end in time."""

from __future__ import annotations

import random

import numpy as np

from grammars.compile import compile_grammar
from grammars.errors import GrammarError
from tests.support.tokenizers import tiny_vocabulary

NUM_WALKS = 20
WALK_TOKENS = 40
MOST_STATES = 5_000


def check(spec):
    vocabulary = tiny_vocabulary()
    try:
        grammar = compile_grammar(spec, vocabulary)
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


def whole_text(matcher, vocabulary, chance):
    """A text by chance that closes within the tokens that are promised after a while.

    Raises:
        LimitExceededError: more than `MOST_STATES` would have to be looked at for the promise.
    """
    row, text = np.zeros(vocabulary.num_words, np.int32), b""
    num_free, left = chance.randrange(WALK_TOKENS), None
    while not matcher.is_terminated and left != 0:
        if num_free > 0:
            matcher.fill_bitmask(row)
            num_free -= 1
        else:
            left = matcher.min_tokens_to_complete(MOST_STATES) if left is None else left
            if left == 0:
                break
            matcher.fill_closing_bitmask(row, left)
            left -= 1
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        assert len(allowed) > 0, "a dead end"
        token_id = int(chance.choice(allowed))
        assert matcher.accept_token(token_id), f"token {token_id} was allowed, but is refused"
        text += vocabulary.token_bytes.get(token_id, b"")
    assert matcher.is_complete, "a text that had to close is not whole"
    return text.decode()
