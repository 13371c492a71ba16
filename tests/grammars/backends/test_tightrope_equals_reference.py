"""Tightrope's masks equal those of the by-the-book FSM, state by state, on random walks."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import numpy as np
import pytest

from grammars.backends.base import get_backend
from grammars.errors import GrammarError
from grammars.spec import Choice, JsonSchema, Regex

TABLE = Path(__file__).parents[2] / "data/peer_keywords.toml"
SCHEMAS = [case["schema"] for case in tomllib.loads(TABLE.read_text())["case"]]
NUM_SHARED_SCHEMAS = 38


def mask(matcher, vocabulary):
    row = np.zeros(vocabulary.num_words, np.int32)
    matcher.fill_bitmask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def assert_same_masks(spec, vocabulary, *, num_walks: int, reference_is_narrower: bool) -> None:
    tightrope = get_backend("tightrope").compile(spec, vocabulary)
    reference = get_backend("fsm-reference").compile(spec, vocabulary)
    draw = random.Random(5)
    for _ in range(num_walks):
        ours, theirs = tightrope.matcher(), reference.matcher()
        for _ in range(40):
            allowed, expected = mask(ours, vocabulary), mask(theirs, vocabulary)
            if reference_is_narrower:
                assert set(expected) <= set(allowed)
            else:
                assert allowed == expected
            assert ours.is_complete == theirs.is_complete
            token_id = draw.choice(expected)
            assert ours.accept_token(token_id)
            assert theirs.accept_token(token_id)
            if theirs.is_terminated:
                break


@pytest.mark.parametrize("whitespace", ["compact", "single"])
def test_schemas_have_the_masks_of_the_reference(vocabulary, whitespace):
    num_shared = 0
    for schema in SCHEMAS:
        spec = JsonSchema(schema, whitespace)
        try:
            get_backend("fsm-reference").compile(spec, vocabulary)
        except GrammarError:
            continue
        num_shared += 1
        # The reference writes strings with a pattern without escapes.
        assert_same_masks(
            spec, vocabulary, num_walks=3, reference_is_narrower='"pattern"' in schema
        )
    assert num_shared == NUM_SHARED_SCHEMAS


@pytest.mark.parametrize(
    "spec",
    [
        Regex(r"[^a]{0,3}(?:é|12)*\."),
        Regex(r"(?:true|\d+)(?:,(?:true|\d+)){0,4}"),
        Regex(r"^[^À-ÿ]x$"),
        Choice(("ab", "abé", "a", "true", '{":')),
    ],
)
def test_texts_have_the_masks_of_the_reference(spec, vocabulary):
    assert_same_masks(spec, vocabulary, num_walks=10, reference_is_narrower=False)
