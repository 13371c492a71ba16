"""What crosses the process border arrives as it was, and nothing else crosses."""

from __future__ import annotations

import typing

import msgspec
import pytest

from engine.output import FinishReason, RequestOutput, TokenLogprobs
from engine.request import Request, SamplingParams
from engine.stats import EngineCounters, EngineStats
from grammars import errors
from grammars.spec import (
    Choice,
    Either,
    Embed,
    FreeText,
    GrammarSpec,
    JsonObject,
    JsonSchema,
    Literal,
    Part,
    Regex,
    Repeat,
    Sequence,
    Structure,
    Tagged,
)
from server.engine_process.codec import CROSSING_TYPES, CodecError
from server.engine_process.messages import (
    CODEC,
    Compile,
    CompileRefused,
    FromEngine,
    Generate,
    Heartbeat,
    Outputs,
    ToEngine,
)
from server.engine_process.refusals import refusal_error, refusal_message

SPECS = [
    JsonSchema('{"type": "object"}', whitespace="compact"),
    JsonObject(),
    Regex("é+"),
    Choice(("a", "b")),
    Structure(
        Sequence(
            (
                FreeText(tags=(Tagged("<t>", Literal("x")),), max_tags=1, end="</think>"),
                Either((Embed(Regex("a")), Repeat(Literal("b"), 1, None))),
            )
        )
    ),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: type(spec).__name__)
def test_a_grammar_arrives_as_it_was(spec):
    assert CODEC.decode(CODEC.encode(Compile(7, spec))) == Compile(7, spec)


def test_requests_and_outputs_arrive_as_they_were():
    sampling = SamplingParams(max_tokens=5, logit_bias={7: -1.5}, stop_token_ids=(1, 2), seed=3)
    generate = Generate(Request("seq-1", (1, 2, 3), sampling), 4)
    assert CODEC.decode(CODEC.encode(generate)) == generate
    output = RequestOutput(
        "seq-1", (9,), (TokenLogprobs(9, -0.25, ((9, -0.25), (8, -2.0))),), FinishReason.STOP
    )
    outputs = Outputs((output,), EngineStats(1, 0, 3, 4, EngineCounters(steps=2)))
    assert CODEC.decode(CODEC.encode(outputs)) == outputs
    assert CODEC.decode(CODEC.encode(Heartbeat(None, 0.5))) == Heartbeat(None, 0.5)


def test_every_message_and_every_grammar_is_known_to_the_codec():
    known = {
        *CODEC._types.values(),
    }
    for union in (ToEngine, FromEngine, GrammarSpec, Part):
        assert set(typing.get_args(union)) <= known
    assert set(CROSSING_TYPES) <= known
    assert len(CODEC._types) == len(known), "two types of one name"


class Stranger:
    """Not in the table."""


@pytest.mark.parametrize("value", [Stranger(), {1: Stranger()}, (Stranger(),), object, {1, 2}])
def test_what_is_not_in_the_table_is_not_sent(value):
    with pytest.raises(CodecError, match="may not cross the process border"):
        CODEC.encode(value)


@pytest.mark.parametrize(
    "sent",
    [
        {"$": "Stranger"},
        {"$": "Abort"},
        {"$": "Abort", "request_id": "a", "more": 1},
        {"no tag": 1},
        {"$": "FinishReason", "value": "not one"},
    ],
)
def test_what_is_no_message_is_not_taken(sent):
    with pytest.raises(CodecError, match="not a message"):
        CODEC.decode(msgspec.msgpack.encode(sent))
    with pytest.raises(CodecError, match="not a message"):
        CODEC.decode(b"\xc1")


@pytest.mark.parametrize(
    "error",
    [
        errors.UnsupportedError("no", pointer="/a", keyword="contains"),
        errors.InvalidGrammarError("bad", place="line 3"),
        errors.UnsatisfiableError("never"),
        errors.LimitExceededError("max_states", 5, "a pattern"),
        errors.BackendError("not installed"),
        errors.VocabularyError("no"),
        errors.GrammarError("any other"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_refusal_arrives_as_the_same_error(error):
    message = CODEC.decode(CODEC.encode(refusal_message(3, error)))
    assert isinstance(message, CompileRefused)
    arrived = refusal_error(message)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert arrived.__reduce__()[1] == error.__reduce__()[1]
