"""Keys that are too large for one lexer are refused before any text."""

from __future__ import annotations

import json

import pytest

from grammars.compile import compile_grammar
from grammars.errors import LimitExceededError
from grammars.limits import CompileLimits
from grammars.spec import JsonSchema
from tests.support.byte_vocabulary import byte_vocabulary

LONG, LONGER = "^[^]{0,40}foo[^]{0,40}$", "^[^]{0,40}bar[^]{0,40}$"


def keys(*patterns: str) -> dict[str, object]:
    """Objects whose keys match one of some patterns, one alternative for each."""
    options = [
        {"patternProperties": {pattern: {"type": "null"}}, "additionalProperties": False}
        for pattern in patterns
    ]
    return {"items": {"anyOf": [{"type": "object", **option} for option in options]}}


@pytest.mark.parametrize(
    ("patterns", "max_states", "what"),
    [
        ((LONG,), 5_000, "a JSON string"),
        ((LONG, LONGER), 60_000, "the lexer of a grammar state"),
    ],
)
def test_keys_that_are_too_large_are_refused_before_any_text(patterns, max_states, what):
    spec, limits = JsonSchema(json.dumps(keys(*patterns))), CompileLimits(max_states=max_states)
    with pytest.raises(LimitExceededError, match=f"{what} needs more than max_states"):
        compile_grammar(spec, byte_vocabulary(), limits)


def test_keys_that_meet_in_few_states_are_read():
    grammar = compile_grammar(JsonSchema(json.dumps(keys("^a", "b$"))), byte_vocabulary())
    for text, is_read in (('[{"ab": null}]', True), ('[{"c": null}]', False)):
        matcher = grammar.matcher()
        assert all(map(matcher.accept_token, text.encode())) is is_read
