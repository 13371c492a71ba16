"""Alternatives that begin alike: every reading is followed, or the structure is refused by name."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.errors import UnsupportedError
from grammars.spec import Choice, Either, Embed, FreeText, JsonSchema, Literal, Regex, Sequence
from tests.support.grammar_texts import TextJudge

OBJECT = Embed(JsonSchema('{"type": "object"}'))
INTEGER = Embed(JsonSchema('{"type": "integer"}'))
SHORT = Embed(JsonSchema('{"type": "string", "maxLength": 3}'))


@pytest.mark.parametrize(
    ("part", "accepts", "rejects"),
    [
        (
            Either((Sequence((Embed(Regex("a|c")), Literal("bd"))), Literal("abe"))),
            ["abd", "cbd", "abe"],
            ["a", "ab", "cbe"],
        ),
        (
            Either((Sequence((Embed(Choice(("a", "é"))), Embed(Regex("b+c")))), Literal("ébx"))),
            ["abc", "ébbc", "ébx"],
            ["abx", "é"],
        ),
        (Sequence((Embed(Choice(("a", "ab"))), Literal("bc"))), ["abc", "abbc"], ["ab", "ac"]),
        (
            Either((Sequence((Literal("1"), Literal("2"))), Literal("13"), Literal("1"))),
            ["1", "12", "13"],
            ["123"],
        ),
        (
            Either((Literal("nullable"), Embed(JsonSchema('{"type": "null"}')))),
            ["null", "nullable"],
            [],
        ),
        (
            Either((Literal('"abcdefgh"'), SHORT)),
            ['"abcdefgh"', '"abc"', '""'],
            ['"abcd"', '"abcde'],
        ),
        (
            Either((Sequence((INTEGER, Literal("x"))), Literal("12y"))),
            ["12x", "12y", "3x"],
            ["13y", "12"],
        ),
    ],
)
def test_all_readings_of_alternatives_are_followed(part, accepts, rejects):
    judge = TextJudge(part)
    assert [text for text in accepts if not judge.accepts(text)] == []
    assert [text for text in rejects if judge.accepts(text)] == []


@pytest.mark.parametrize(
    "part",
    [
        Either((Literal('{"name": "f"}'), OBJECT)),
        Either((Embed(Choice(('[1, "x"]',))), Embed(JsonSchema('{"type": "array"}')))),
        Either((Sequence((Literal('{"f": '), INTEGER, Literal("}"))), OBJECT)),
        Either((Embed(Regex(r'\{"a": x\}')), OBJECT)),
        Either((Sequence((Embed(Regex("a")), Literal("bc"))), Embed(Regex("abd")))),
        Either((FreeText(), Sequence((Literal("<a>"), INTEGER)))),
        Either((Sequence((INTEGER, Literal("5x"))), Embed(Regex("17+")))),
    ],
)
def test_alternatives_whose_readings_would_be_lost_are_refused(part):
    with pytest.raises(UnsupportedError, match="cannot be told apart"):
        TextJudge(part)


LEAVES = st.one_of(
    st.text("ab", max_size=3).map(Literal),
    st.lists(st.text("ab", max_size=3), min_size=1, max_size=3).map(
        lambda options: Embed(Choice(tuple(options)))
    ),
    st.sampled_from(["a|ba", "a+", "(?:ab)*", "b?a", "[ab]b"]).map(lambda p: Embed(Regex(p))),
)
PARTS = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3).map(lambda p: Sequence(tuple(p))),
        st.lists(parts, min_size=2, max_size=3).map(lambda p: Either(tuple(p))),
    ),
    max_leaves=6,
)


def as_pattern(part) -> str:
    match part:
        case Literal(text):
            return re.escape(text)
        case Embed(Regex(pattern)):
            return f"(?:{pattern})"
        case Embed(Choice(options)):
            return f"(?:{'|'.join(map(re.escape, options))})"
        case Sequence(parts):
            return "".join(map(as_pattern, parts))
        case Either(options):
            return f"(?:{'|'.join(map(as_pattern, options))})"
        case _:
            raise AssertionError(part)


TEXTS = ["".join(text) for size in range(6) for text in product("ab", repeat=size)]


@given(PARTS)
@settings(max_examples=150, deadline=None)
def test_a_structure_accepts_what_its_pattern_does_or_is_refused(part):
    try:
        judge = TextJudge(part)
    except UnsupportedError:
        return
    pattern = re.compile(as_pattern(part))
    wrong = [text for text in TEXTS if judge.accepts(text) != bool(pattern.fullmatch(text))]
    assert wrong == []
