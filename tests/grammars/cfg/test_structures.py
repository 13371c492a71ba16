"""Grammars inside structures: between tags, inside JSON strings, beside other parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grammars.compile import compile_grammar
from grammars.errors import UnsupportedError
from grammars.spec import (
    Cfg,
    Choice,
    Either,
    Embed,
    FreeText,
    JsonSchema,
    Literal,
    Regex,
    Repeat,
    Sequence,
    Structure,
    Tagged,
)
from tests.support.grammar_texts import TextJudge
from tests.support.tokenizers import tiny_vocabulary

GRAMMARS = Path(__file__).resolve().parents[2] / "data" / "grammars"
NESTED = Cfg("gbnf", 'root ::= "(" root ")" | [a-z]+')
QUOTES = Cfg(
    "gbnf",
    r"""
root ::= "\"" text "\"" | text
text ::= [a-z\n\\]+
""",
    in_json_string=True,
)


@pytest.mark.parametrize(
    ("part", "accepts", "rejects"),
    [
        (Embed(NESTED), ["a", "((ab))"], ["", "(a"]),
        (
            Sequence((Literal("<t>"), Embed(NESTED), Literal("</t>"))),
            ["<t>(ab)</t>", "<t>x</t>"],
            ["<t></t>", "<t>(a</t>", "(a)", "<t>a"],
        ),
        (
            Sequence((Literal("["), Repeat(Sequence((Embed(NESTED), Literal(";")))), Literal("]"))),
            ["[]", "[a;]", "[(a);b;]"],
            ["[a]", "[;]", "[(a;]"],
        ),
        (
            Either((Embed(NESTED), Embed(JsonSchema('{"type": "integer"}')))),
            ["a", "12", "(b)"],
            ["a1", "(1)"],
        ),
        (
            Sequence((Embed(Cfg("gbnf", 'root ::= "a"*')), Literal("b"))),
            ["b", "aab"],
            ["a", "ba", ""],
        ),
        (
            FreeText(tags=(Tagged("<t>", Sequence((Embed(NESTED), Literal("</t>")))),)),
            ["hello", "x <t>(a)</t> y <t>b</t>", "(("],
            ["<t>", "<t>(a</t>"],
        ),
        (
            Sequence((Literal('{"input": "'), Embed(QUOTES), Literal('"}'))),
            ['{"input": "\\"ab\\""}', '{"input": "a\\n\\\\"}'],
            ['{"input": ""ab""}', '{"input": "\\"ab"}', '{"input": "a'],
        ),
        (Embed(Cfg("gbnf", 'root ::= "" | "x"')), ["", "x"], ["xx"]),
    ],
)
def test_a_structure_with_a_grammar_accepts_exactly_its_texts(part, accepts, rejects):
    judge = TextJudge(part)
    assert [t for t in accepts if not judge.accepts(t)] == []
    assert [t for t in rejects if judge.accepts(t)] == []


def test_a_grammar_alone_and_inside_a_structure_have_the_same_masks():
    spec = Cfg("lark", 'start: x ("," x)*\nx: NAME | "(" start ")"\nNAME: /[abc]+/\n%ignore " "')
    alone = compile_grammar(spec, tiny_vocabulary()).matcher()
    inside = compile_grammar(Structure(Embed(spec)), tiny_vocabulary()).matcher()
    for token_id in tiny_vocabulary().encode(b"abc, ((a ,b),cc)"):
        assert alone.allowed_token_ids() == inside.allowed_token_ids()
        assert alone.accept_token(token_id)
        assert inside.accept_token(token_id)
    assert alone.is_complete
    assert inside.is_complete


def test_inside_a_json_string_a_text_is_the_one_that_is_read_back():
    judge = TextJudge(Sequence((Literal('"'), Embed(QUOTES), Literal('"'))))
    for text in ("ab", '"a\n\\"', "\\\n"):
        assert judge.accepts(json.dumps(text))


def test_a_lexer_reads_whole_characters_inside_a_json_string():
    spec = Cfg("lark", (GRAMMARS / "statements.lark").read_text(), in_json_string=True)
    judge = TextJudge(Sequence((Literal('{"input": "'), Embed(spec), Literal('"}'))))
    program = 'x = ["a\\n", "é"];\n\nIF (x == 1) {\n\tf("\\"");\n}'
    assert judge.accepts(json.dumps({"input": program}, ensure_ascii=False))
    assert not judge.accepts(json.dumps({"input": program[:-1]}, ensure_ascii=False))
    assert not judge.accepts('{"input": "' + program + '"}')


@pytest.mark.parametrize(
    "part",
    [
        Sequence((Embed(NESTED), Literal("b"))),
        Sequence((Embed(NESTED), Embed(NESTED))),
        Repeat(Embed(NESTED)),
        Sequence((Embed(NESTED), Literal("("))),
        Sequence((Embed(NESTED), Embed(Choice(("-", "x"))))),
    ],
)
def test_a_grammar_whose_end_would_not_be_plain_is_refused(part):
    with pytest.raises(UnsupportedError) as caught:
        TextJudge(part)
    assert str(caught.value) == (
        "(root): what follows a grammar may begin like a character of it, so its end would not be "
        "plain; put a tag between them that begins with a character the grammar never writes"
    )


@pytest.mark.parametrize(
    "part",
    [
        Either((Embed(NESTED), Literal("(x"))),
        Either((Embed(NESTED), Embed(Regex("[a-c]+")))),
        Sequence((Embed(Regex("a*")), Embed(NESTED))),
    ],
)
def test_a_grammar_that_begins_like_what_is_beside_it_is_refused(part):
    with pytest.raises(UnsupportedError, match="cannot be told apart as they are written"):
        TextJudge(part)
