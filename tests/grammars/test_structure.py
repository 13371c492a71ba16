"""Structures: literals, free text, tags, repetition and embedded specs, as whole texts."""

from __future__ import annotations

import pytest

from grammars.compile import compile_grammar
from grammars.errors import InvalidGrammarError, UnsatisfiableError, UnsupportedError
from grammars.spec import (
    Choice,
    Either,
    Embed,
    FreeText,
    JsonObject,
    JsonSchema,
    Literal,
    Regex,
    Repeat,
    Sequence,
    Structure,
    Tagged,
)
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.grammar_texts import TextJudge

INTEGER = Embed(JsonSchema('{"type": "integer"}'))
OBJECT = Embed(JsonSchema('{"type": "object", "properties": {"a": {"type": "integer"}}, '
                          '"required": ["a"], "additionalProperties": false}'))  # fmt: skip


def tool(name, arguments=OBJECT):
    begin = f'\n{{"name": "{name}", "arguments": '
    return Sequence((Literal(begin), arguments, Literal("}\n</tool_call>")))


CALLS = Tagged("<tool_call>", Either((tool("add"), tool("add_all"))))
ADD = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
ADD_ALL = '<tool_call>\n{"name": "add_all", "arguments": {"a": 1}}\n</tool_call>'


@pytest.mark.parametrize(
    ("part", "accepts", "rejects"),
    [
        (Literal("abc"), ["abc"], ["", "ab", "abcd"]),
        (Embed(Regex("a+|b?")), ["", "a", "aa", "b"], ["ab", "bb"]),
        (Embed(Regex("é.")), ["éx", "é😀"], ["é", "é\n", "e"]),
        (Embed(Choice(("John", "John Doe", ""))), ["John", "John Doe", ""], ["John ", "J"]),
        (Sequence((Literal("["), INTEGER, Literal("]"))), ["[1]", "[-20]"], ["[]", "[1", "[01]"]),
        (Either((Literal("x"), INTEGER)), ["x", "12"], ["x1", ""]),
        (Repeat(Literal("ab"), 1, 2), ["ab", "abab"], ["", "aba", "ababab"]),
        (Repeat(Literal("ab")), ["", "ab", "ababab"], ["a"]),
        (Repeat(Embed(Choice(("", "x"))), 2, 3), ["", "x", "xxx"], ["xxxx"]),
        (FreeText(), ["", "any <text> é😀 {"], []),
        (FreeText(end="</think>"), ["</think>", "a < b </thin </think>"], ["", "x", "</think>y"]),
        (
            Sequence((FreeText(end="</think>"), Literal("\n\n"), OBJECT)),
            ['so {"a" </think>\n\n{"a": 1}'],
            ['</think>{"a": 1}', '{"a": 1}', "</think>\n\n"],
        ),
        (
            FreeText(tags=(CALLS,)),
            ["", "just text", ADD, f"I call {ADD}", ADD + "\n" + ADD_ALL + "done", "< <tool <b>"],
            ["<tool_call>", "see <tool_call> here", ADD[:-1], ADD.replace("add", "sub")],
        ),
        (
            FreeText(tags=(CALLS,), max_tags=1),
            ["", ADD, ADD + " ok", "<tool_cal>"],
            [ADD + ADD_ALL, ADD + "<tool_call>"],
        ),
        (
            Either((OBJECT, Repeat(Sequence((Literal("<tool_call>"), CALLS.body)), 1))),
            ['{"a": 1}', ADD, ADD + ADD_ALL],
            ["", "text", '{"a": 1}' + ADD],
        ),
        (
            FreeText(tags=(Tagged("<｜calls｜>", Literal("x")),)),
            ["<｜calls｜>x", "<｜calls", "｜", "<<｜calls｜>x"],
            ["<｜calls｜>", "<｜calls｜>y"],
        ),
    ],
)
def test_a_structure_accepts_exactly_its_texts(part, accepts, rejects):
    judge = TextJudge(part)
    assert [text for text in accepts if not judge.accepts(text)] == []
    assert [text for text in rejects if judge.accepts(text)] == []


def test_tool_names_that_begin_alike_are_told_apart():
    judge = TextJudge(Either((tool("get", INTEGER), tool("get_all"))))
    assert judge.accepts('\n{"name": "get", "arguments": 3}\n</tool_call>')
    assert judge.accepts('\n{"name": "get_all", "arguments": {"a": 3}}\n</tool_call>')
    assert not judge.accepts('\n{"name": "get_all", "arguments": 3}\n</tool_call>')


class TestControlTokens:
    """A vocabulary in which both tags are one token each."""

    CONTROLS = ("<tool_call>", "</tool_call>")
    OPEN = byte_vocabulary(CONTROLS).control_symbol("<tool_call>") or 0
    CLOSE = byte_vocabulary(CONTROLS).control_symbol("</tool_call>") or 0
    BODY = '\n{"name": "add", "arguments": {"a": 1}}\n'

    def judge(self, part):
        return TextJudge(part, controls=self.CONTROLS)

    def test_a_literal_is_written_with_the_token_only(self):
        judge = self.judge(Sequence((Literal("<tool_call>"), CALLS.body)))
        assert judge.accepts([self.OPEN, self.BODY, self.CLOSE])
        assert not judge.accepts(ADD)
        assert not judge.accepts([self.OPEN, self.BODY + "</tool_call>"])

    def test_free_text_takes_a_tag_by_its_token_and_cannot_spell_it(self):
        judge = self.judge(FreeText(tags=(CALLS,)))
        assert judge.accepts(["so ", self.OPEN, self.BODY, self.CLOSE, " done"])
        assert judge.accepts(["so <tool_call done, </tool_call> too"])
        assert not judge.accepts(["so <tool_call>" + self.BODY, self.CLOSE])
        judge = self.judge(FreeText(end="<tool_call>"))
        assert judge.accepts(["so <tool_call", self.OPEN])
        assert not judge.accepts(["so <tool_call>"])
        assert not judge.accepts(["so <tool_call>", self.OPEN])

    def test_a_control_token_is_never_text(self):
        assert not self.judge(FreeText()).accepts(["a", self.OPEN])
        assert not self.judge(FreeText(tags=(CALLS,))).accepts(["a", self.CLOSE])
        assert not self.judge(Embed(JsonSchema('{"type": "string"}'))).accepts(
            ['"', self.OPEN, '"']
        )
        assert not self.judge(FreeText(tags=(CALLS,), max_tags=0)).accepts(["a", self.OPEN])

    def test_a_control_token_does_not_stand_inside_a_character(self):
        judge = TextJudge(FreeText(end="<tool_call>"), controls=self.CONTROLS)
        assert judge.accepts(["é", self.OPEN])
        assert not judge.accepts([0xC3, self.OPEN])


@pytest.mark.parametrize(
    ("part", "error", "message"),
    [
        (
            FreeText(tags=(Tagged("", Literal("x")),)),
            InvalidGrammarError,
            "(root): a tag in free text must not be empty",
        ),
        (Literal("a<|end|>"), InvalidGrammarError, None),
    ],
)
def test_a_malformed_structure_is_refused(part, error, message):
    with pytest.raises(error) as refusal:
        TextJudge(part)
    assert message is None or str(refusal.value) == message


@pytest.mark.parametrize(
    "part",
    [
        Sequence((Embed(Regex("a*")), Literal("ab"))),
        Sequence((INTEGER, Literal("5"))),
        Sequence((FreeText(), Literal("x"))),
    ],
)
def test_parts_that_cannot_be_told_apart_are_refused(part):
    with pytest.raises(UnsupportedError, match="cannot be told apart"):
        TextJudge(part)


@pytest.mark.parametrize("after", ["", "</a>"])
@pytest.mark.parametrize("before", ["", "<a>"])
@pytest.mark.parametrize(
    "spec", [Regex("$0"), Regex("(?!a)a"), Regex(r"a\ba"), Regex(r"[^\s\S]"), Regex("x*a(?=b)")]
)
def test_a_pattern_that_nothing_matches_is_refused_wherever_it_stands(before, spec, after):
    with pytest.raises(UnsatisfiableError, match="no text matches the pattern"):
        TextJudge(Sequence((Literal(before), Embed(spec), Literal(after))))


def test_a_pattern_that_only_nothing_matches_is_the_empty_text():
    judge = TextJudge(Sequence((Literal("a"), Embed(Regex("($0)*")), Literal("b"))))
    assert judge.accepts("ab")


@pytest.mark.parametrize(
    "part",
    [
        Literal("\x04"),
        Embed(Choice(("\x04", "x\x04"))),
        Embed(Regex("[\x04\x06]+x?")),
        FreeText(end="\x04"),
        Either((Embed(Regex("\x04")), Embed(Choice(("\x06",))))),
    ],
)
@pytest.mark.parametrize("before", [Literal(""), Literal("<a>"), Embed(JsonObject())])
def test_what_the_tokens_cannot_spell_is_refused_before_the_first_token(before, part):
    vocabulary = byte_vocabulary(without=b"\x04\x06")
    with pytest.raises(UnsatisfiableError, match="characters that no token spells"):
        compile_grammar(Structure(Sequence((before, part))), vocabulary)


def test_of_several_texts_those_that_the_tokens_can_spell_are_left():
    vocabulary = byte_vocabulary(without=b"\x04\x06")
    grammar = compile_grammar(Choice(("\x04", "a\x06", "ab")), vocabulary)
    matcher = grammar.matcher()
    assert matcher.forced_tokens() == list(b"ab")


def test_every_embedded_spec_is_checked_before_the_first_token():
    deep = Sequence((Literal("a"), tool("f", Embed(JsonSchema('{"type": "objekt"}')))))
    with pytest.raises(InvalidGrammarError, match="'objekt' is not a type"):
        TextJudge(FreeText(tags=(Tagged("<call>", deep),)))
