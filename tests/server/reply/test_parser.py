"""The reply parser: one table of model texts, one law for every way of cutting them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.calls.tool import CallableTool
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.reply.events import CallArgumentsEvent, CallEndEvent, CallStartEvent, TextEvent
from server.reply.parser import ReplyParser
from tests.support.calls import spelled_call
from tests.support.folding import fold

REPLY_TAGS = ReplyFormat().tags
NAMES = ("f", "add", "write", "get_weather", "current_time", "ping")


@dataclass(frozen=True)
class Case:
    """A model text and the message that it stands for."""

    name: str
    text: str
    content: str | None = None
    calls: list[tuple[str, str]] = field(default_factory=list)
    reasoning: str | None = None
    thinking: Thinking = Thinking.NONE
    tools: tuple[str, ...] = NAMES


NESTED = '{"title": "T é", "outline": [{"h": "one", "g": "x"}, {"h": "two", "g": "y"}]}'
CASES = [
    Case("plain text", "Hello, world.", "Hello, world."),
    Case("empty", "", ""),
    Case("white space alone", " \n ", " \n "),
    Case("text that ends in white space", "Hello.\n\n", "Hello.\n\n"),
    Case(
        "B001 a long call",
        spelled_call("f", '{"a": 23, "b": 0.8, "code": "ZX39"}'),
        None,
        [("f", '{"a": 23, "b": 0.8, "code": "ZX39"}')],
    ),
    Case(
        "B002 braces at the end",
        '<tool_call>{"name":"f","arguments":{"q":"x"}}</tool_call>',
        None,
        [("f", '{"q":"x"}')],
    ),
    Case("B004 array of objects at the end", spelled_call("f", NESTED), None, [("f", NESTED)]),
    Case("B005 no arguments", spelled_call("current_time", "{}"), None, [("current_time", "{}")]),
    Case(
        "B005 arguments left out", '<tool_call>{"name": "ping"}</tool_call>', None, [("ping", "{}")]
    ),
    Case(
        "B006 a call behind one without arguments",
        spelled_call("ping", "{}") + "\n" + spelled_call("add", '{"a":1}'),
        None,
        [("ping", "{}"), ("add", '{"a":1}')],
    ),
    Case(
        "B009 a brace in a string",
        spelled_call("f", '{"cmd": "touch d/{a,b"}'),
        None,
        [("f", '{"cmd": "touch d/{a,b"}')],
    ),
    Case(
        "B010 blank lines before the brace",
        '<tool_call>\n\n \t{ "name" : "f" , "arguments" : { "a" : 1 } }\n\n</tool_call>',
        None,
        [("f", '{ "a" : 1 }')],
    ),
    Case(
        "B011 the closing tag in a string",
        spelled_call("write", '{"text": "close with </tool_call> here"}'),
        None,
        [("write", '{"text": "close with </tool_call> here"}')],
    ),
    Case(
        "B011 and a second call",
        spelled_call("write", '{"text": "</tool_call>"}') + spelled_call("f", "{}"),
        None,
        [("write", '{"text": "</tool_call>"}'), ("f", "{}")],
    ),
    Case(
        "B012 a tag in prose",
        "The marker <tool_call> opens a call in this format.",
        "The marker <tool_call> opens a call in this format.",
    ),
    Case(
        "B012 a tag in prose, without tools",
        "The marker <tool_call> opens a call.",
        "The marker <tool_call> opens a call.",
        tools=(),
    ),
    Case(
        "B012 a whole call, without tools",
        spelled_call("f", "{}"),
        spelled_call("f", "{}"),
        tools=(),
    ),
    Case(
        "B015 two calls at once",
        spelled_call("f", '{"c":"A"}') + "\n" + spelled_call("f", '{"c":"B"}'),
        None,
        [("f", '{"c":"A"}'), ("f", '{"c":"B"}')],
    ),
    Case(
        "B017 an unknown tool among others",
        spelled_call("add", '{"a":1}')
        + spelled_call("not_offered", "{}")
        + spelled_call("add", '{"a":2}'),
        spelled_call("not_offered", "{}"),
        [("add", '{"a":1}'), ("add", '{"a":2}')],
    ),
    Case(
        "B024 no level of escapes is added",
        spelled_call("f", '{"q": "天气 ☔ \\u4f60"}'),
        None,
        [("f", '{"q": "天气 ☔ \\u4f60"}')],
    ),
    Case(
        "B029 a made-up call",
        'Example: <tool_call>{"name": "no_such", "arguments": [1,</tool_call> done',
        'Example: <tool_call>{"name": "no_such", "arguments": [1,</tool_call> done',
    ),
    Case(
        "B031 a bracket too much",
        '<tool_call>{"name": "f", "arguments": {"p": "a"}]}</tool_call> end',
        "end",
        [("f", '{"p": "a"}')],
    ),
    Case(
        "B034 no closing tag",
        '<tool_call>{"name": "f", "arguments": {"a": 1}}',
        None,
        [("f", '{"a": 1}')],
    ),
    Case(
        "B034 a cut closing tag",
        '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_cal',
        None,
        [("f", '{"a": 1}')],
    ),
    Case(
        "prose behind a call without closing tag",
        '<tool_call>{"name": "f", "arguments": {}} done',
        "done",
        [("f", "{}")],
    ),
    Case(
        "arguments that are no JSON",
        '<tool_call>{"name":"f","arguments":{a:1}}</tool_call>',
        '<tool_call>{"name":"f","arguments":{a:1}}</tool_call>',
    ),
    Case(
        "arguments that are Python",
        '<tool_call>{"name":"f","arguments":__import__("os")}</tool_call>',
        '<tool_call>{"name":"f","arguments":__import__("os")}</tool_call>',
    ),
    Case(
        "cut off in the name",
        'Wait.\n<tool_call>\n{"name": "ad',
        'Wait.\n<tool_call>\n{"name": "ad',
    ),
    Case(
        "cut off in the arguments",
        '<tool_call>\n{"name":"f","arguments":{"a":"',
        None,
        [("f", '{"a":"')],
    ),
    Case(
        "escaped quotes",
        spelled_call("f", '{"a": "say \\"}\\" \\\\"}'),
        None,
        [("f", '{"a": "say \\"}\\" \\\\"}')],
    ),
    Case(
        "text, call, text",
        "Let me see.\n" + spelled_call("f", "{}") + "\nDone.\n",
        "Let me see.Done.\n",
        [("f", "{}")],
    ),
    Case(
        "a tag behind a tag",
        "<tool_call><tool_call>" + spelled_call("f", "{}"),
        "<tool_call><tool_call>",
        [("f", "{}")],
    ),
    Case("a closing tag alone", "a </tool_call> b", "a </tool_call> b"),
    Case(
        "B014 a call at once, thinking closed by the prompt",
        spelled_call("f", '{"a":1}'),
        None,
        [("f", '{"a":1}')],
    ),
    Case(
        "B027 a lone < in thoughts",
        "use <interface> names </thin\n</think>\n\nok",
        "ok",
        [],
        "use <interface> names </thin",
        Thinking.OPEN,
    ),
    Case(
        "thoughts opened by the model",
        "<think>\nhm\n</think>\n\nok",
        "ok",
        [],
        "hm",
        Thinking.OPTIONAL,
    ),
    Case(
        "thoughts, then a call",
        "<think>\nhm\n</think>\n\n" + spelled_call("f", "{}"),
        None,
        [("f", "{}")],
        "hm",
        Thinking.OPTIONAL,
    ),
    Case(
        "no thoughts though possible",
        "\nok <think> not",
        "\nok <think> not",
        [],
        None,
        Thinking.OPTIONAL,
    ),
    Case("empty thoughts", "<think>\n\n</think>\n\nok", "ok", [], None, Thinking.OPTIONAL),
    Case("thoughts never closed", "hm " * 20, "", [], "hm " * 20, Thinking.OPEN),
    Case(
        "a call in thoughts is thought",
        spelled_call("f", "{}") + "</think>ok",
        "ok",
        [],
        spelled_call("f", "{}"),
        Thinking.OPEN,
    ),
    Case("thinking is off: tags are text", "<think>a</think>b", "<think>a</think>b"),
]


def tools_named(*names: str) -> list[CallableTool]:
    return [CallableTool(name, {"type": "object"}) for name in names]


def parser_for(case: Case, token_tags: tuple[str, ...] = ()) -> ReplyParser:
    return ReplyParser(
        tools=tools_named(*case.tools), thinking=case.thinking, token_tags=token_tags
    )


def parse(case: Case, pieces: list[str]):
    parser = parser_for(case)
    events = [event for piece in pieces for event in parser.feed(piece)]
    return fold(events + parser.finish())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_text_folds_to_its_message(case):
    message = parse(case, [case.text])
    assert message.content == case.content
    assert [(c.name, c.arguments) for c in message.calls] == case.calls
    assert message.reasoning == case.reasoning


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_cut_gives_the_same_message(case):
    whole = parse(case, [case.text])
    for index in range(len(case.text) + 1):
        assert_same(parse(case, [case.text[:index], case.text[index:]]), whole)
    assert_same(parse(case, list(case.text)), whole)


@pytest.mark.parametrize("is_all_calls", [True, False])
@pytest.mark.parametrize("begun", range(len("<tool_call>") + 1))
def test_the_beginning_of_a_tag_is_no_text_where_only_a_call_can_follow(begun, is_all_calls):
    """Cut by a limit at every place of a second call's tag, and of the first where all is calls."""
    for before in [spelled_call("f", '{"a": 1}'), *[""] * is_all_calls]:
        parser = ReplyParser(
            tools=tools_named("f"), calls_anywhere=False, is_all_calls=is_all_calls
        )
        events = parser.feed(before + "\n" * bool(before) + "<tool_call>"[:begun])
        message = fold(events + parser.finish(is_cut=True))
        assert not message.content
        assert len(message.calls) == bool(before)


def test_the_beginning_of_a_tag_is_text_where_a_document_may_begin_so():
    parser = ReplyParser(tools=tools_named("f"), calls_anywhere=False)
    assert fold(parser.feed("<tool") + parser.finish(is_cut=True)).content == "<tool"


def assert_same(one, other):
    assert one.content == other.content
    assert one.reasoning == other.reasoning
    assert [(c.name, c.arguments, c.is_complete) for c in one.calls] == [
        (c.name, c.arguments, c.is_complete) for c in other.calls
    ]


FRAGMENTS = st.sampled_from(
    [
        *REPLY_TAGS,
        *("<", ">", "</", "{", "}", "]", '"', "\\", "\n", " ", "a", "é", "tool_call>"),
        '{"name": "f", "arguments": {',
        '{"name": "add"',
        spelled_call("f", '{"a": 1}'),
        spelled_call("x", "{}"),
    ]
)


@given(
    fragments=st.lists(FRAGMENTS, max_size=12),
    cuts=st.lists(st.integers(0, 200), max_size=12),
    thinking=st.sampled_from(list(Thinking)),
    tools=st.sampled_from([(), NAMES]),
)
def test_b016_b025_any_text_cut_anywhere_folds_to_the_same_message(
    fragments, cuts, thinking, tools
):
    """No cut loses or changes anything, and nothing raises."""
    text = "".join(fragments)
    case = Case("any", text, thinking=thinking, tools=tools)
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert_same(parse(case, pieces), parse(case, [text]))


@given(st.lists(FRAGMENTS, max_size=12))
def test_without_tools_and_thoughts_text_goes_through_unchanged(fragments):
    text = "".join(fragments)
    assert parse(Case("off", text, tools=()), list(text)).content == text


@given(st.lists(FRAGMENTS, max_size=12), st.sets(st.sampled_from(REPLY_TAGS)))
def test_control_tokens_and_spelled_tags_never_raise(fragments, token_tags):
    parser = ReplyParser(
        tools=tools_named(*NAMES), thinking=Thinking.OPTIONAL, token_tags=tuple(token_tags)
    )
    for fragment in fragments:
        if fragment in token_tags:
            parser.feed_tag(fragment)
        else:
            parser.feed(fragment)
    parser.finish()


def test_b007_nothing_is_told_before_the_name_is_closed():
    parser = parser_for(CASES[0])
    for piece in ("<tool_call>", "\n", '{"', "name", '": "', "f"):
        assert parser.feed(piece) == []
    assert parser.feed('", "arguments": {"') == [CallStartEvent("f"), CallArgumentsEvent('{"')]


def test_b001_arguments_are_told_as_they_come():
    parser = parser_for(CASES[0])
    parser.feed('<tool_call>{"name": "f", "arguments": {"a": "')
    assert parser.feed("xyz") == [CallArgumentsEvent("xyz")]
    assert parser.feed('"}') == [CallArgumentsEvent('"}'), CallEndEvent()]


def test_b046_plain_text_is_told_at_once_though_tools_are_given():
    parser = parser_for(CASES[0])
    assert parser.feed("Hello") == [TextEvent("Hello")]
    assert parser.feed(" a <tool") == [TextEvent(" a")]
    assert parser.feed("box>") == [TextEvent(" <toolbox>")]


def test_b026_control_tokens_are_tags_and_the_same_letters_are_text():
    parser = ReplyParser(tools=tools_named("f"), token_tags=("<tool_call>", "</tool_call>"))
    spelled = fold(parser.feed(spelled_call("f", "{}")) + parser.finish())
    assert spelled.content == spelled_call("f", "{}")
    parser = ReplyParser(tools=tools_named("f"), token_tags=("<tool_call>", "</tool_call>"))
    events = parser.feed_tag("<tool_call>")
    events += parser.feed('\n{"name": "f", "arguments": {"a": "')
    events += parser.feed_tag("</tool_call>")
    events += parser.feed('"}}\n') + parser.feed_tag("</tool_call>") + parser.finish()
    message = fold(events)
    assert [(c.name, json.loads(c.arguments)) for c in message.calls] == [
        ("f", {"a": "</tool_call>"})
    ]
    assert message.content is None


def test_a_long_text_takes_linear_steps():
    """Hostile texts: many tags, deep nesting, a megabyte of arguments four characters at a time."""
    for text in (
        "<tool_call>" * 20_000,
        '<tool_call>{"name":' * 20_000,
        "<think>" + "hm " * 20_000,
    ):
        assert parse(Case("long", text), [text]).content == text
    arguments = '{"a":"' + "x" * 200_000 + '"}'
    text = spelled_call("f", arguments)
    message = parse(Case("long", text), [text[i : i + 4] for i in range(0, len(text), 4)])
    assert message.calls[0].arguments == arguments
    deep = '{"a":' * 10_000 + "1" + "}" * 10_000
    assert (
        parse(Case("deep", spelled_call("f", deep)), [spelled_call("f", deep)]).calls[0].arguments
        == deep
    )
