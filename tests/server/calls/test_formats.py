"""Each format of calls: what its grammar allows is read by its parser, and rendered back."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import validate

from grammars.compile import compile_grammar
from grammars.spec import JsonSchema, Structure
from server.calls.formats import DEEPSEEK_V3, FORMATS, call_text, calls_text, shown_format
from server.calls.grammar import calls_or_json_part, calls_part, text_with_calls_part
from server.calls.tool import CallableTool, ToolKind
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.composition import compose
from server.reply.parser import ReplyParser
from server.tool_choice import CallMode, ToolUse
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.folding import fold
from tests.support.grammar_texts import TextJudge

SCHEMA: Any = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "unit": {"enum": ["c", "f", "</tool_call>"]},
        "day": {"$ref": "#/$defs/day"},
        "days": {"type": "array", "items": {"type": "integer", "maximum": 9}, "maxItems": 3},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
    },
    "required": ["text", "note"],
    "additionalProperties": False,
    "$defs": {"day": {"type": "string", "enum": ["mon", "tue"]}},
}
F = CallableTool("f", SCHEMA)
G = CallableTool("g", {"type": "object", "properties": {}, "additionalProperties": False})
CUSTOM = CallableTool(
    "code.run",
    {
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
        "additionalProperties": False,
    },
    kind=ToolKind.CUSTOM,
)
TOOLS = (F, G, CUSTOM)
ARGUMENTS = [
    {"text": "plain", "note": "n"},
    {"text": 'say "}" \\ </b>\nand é ☔', "note": None},
    {"text": "", "note": "nul", "unit": "c", "day": "tue", "days": [1, 2]},
    {"text": "null", "note": "nulls", "days": []},
]
SYNTAXES = list(FORMATS.values())


def reply(syntax, pieces, *, tools=TOOLS, token_tags=(), thinking=Thinking.NONE, is_cut=False):
    parser = ReplyParser(
        tools=tools, thinking=thinking, reply_format=ReplyFormat(syntax), token_tags=token_tags
    )
    events = []
    for piece in pieces:
        events += parser.feed_tag(piece) if piece in token_tags else parser.feed(piece)
    return fold(events + parser.finish(is_cut=is_cut))


def calls_of(message) -> list[tuple[str, Any]]:
    return [
        (c.name, json.loads(c.arguments) if c.kind is ToolKind.FUNCTION else c.arguments)
        for c in message.calls
    ]


def accepts(part, text: str, controls: tuple[str, ...]) -> bool:
    judge = TextJudge(part, controls=controls)
    pieces = judge.vocabulary.split_controls(text)
    return judge.accepts([p if isinstance(p, int) else p.decode() for p in pieces])


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
@pytest.mark.parametrize("are_tokens", [True, False], ids=["token tags", "spelled tags"])
def test_calls_are_allowed_and_read_as_they_were_made(syntax, are_tokens):
    made = [*(("f", arguments) for arguments in ARGUMENTS), ("g", {})]
    text = calls_text(syntax, made)
    controls = syntax.tags if are_tokens else ()
    assert accepts(calls_part(syntax, TOOLS, max_calls=None), text, controls)
    assert accepts(text_with_calls_part(syntax, TOOLS, max_calls=None), text, controls)
    assert not accepts(calls_part(syntax, TOOLS, max_calls=4), text, controls)
    assert not accepts(text_with_calls_part(syntax, TOOLS, max_calls=4), text, controls)
    pieces = cut_at(text, controls)
    message = reply(syntax, pieces, token_tags=controls)
    assert calls_of(message) == made
    assert message.content is None
    assert all(call.is_complete for call in message.calls)


DEEPSEEK_CALL = call_text(DEEPSEEK_V3, "g", {})
DEEPSEEK_END = DEEPSEEK_V3.after_arguments[-1]
DEEPSEEK_SEPARATOR = DEEPSEEK_V3.before_name[-1]


@pytest.mark.parametrize("are_tokens", [True, False], ids=["token tags", "spelled tags"])
@pytest.mark.parametrize(
    ("calls", "num_calls"),
    [
        (f"{DEEPSEEK_CALL} {DEEPSEEK_CALL}", 2),
        # Behind a call: dropped with all that follows, up to the next end of a call.
        (f"{DEEPSEEK_CALL}{DEEPSEEK_SEPARATOR}junk{DEEPSEEK_CALL}", 1),
        (f"{DEEPSEEK_CALL}junk{DEEPSEEK_CALL}{DEEPSEEK_CALL}", 2),
        # Behind the arguments: up to the end of this call, or the beginning of all calls.
        (DEEPSEEK_CALL.removesuffix(DEEPSEEK_END) + f"junk{DEEPSEEK_END}{DEEPSEEK_CALL}", 2),
        (
            DEEPSEEK_CALL.removesuffix(DEEPSEEK_END)
            + DEEPSEEK_SEPARATOR
            + f"junk{DEEPSEEK_V3.section_open[0]}{DEEPSEEK_CALL}",
            2,
        ),
    ],
)
def test_what_does_not_belong_among_calls_is_dropped_with_its_block(calls, num_calls, are_tokens):
    tags = DEEPSEEK_V3.tags if are_tokens else ()
    (begin,), (end,) = DEEPSEEK_V3.section_open, DEEPSEEK_V3.section_close
    message = reply(DEEPSEEK_V3, cut_at(f"{begin}{calls}{end} after", tags), token_tags=tags)
    assert calls_of(message) == [("g", {})] * num_calls
    assert message.content == "after"


def cut_at(text: str, tags: tuple[str, ...]) -> list[str]:
    """The text between tags, and the tags."""
    return re.split(f"({'|'.join(map(re.escape, tags))})", text) if tags else [text]


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
def test_every_cut_of_calls_gives_the_same_message(syntax):
    text = calls_text(syntax, [("f", ARGUMENTS[1]), ("g", {}), ("f", ARGUMENTS[2])])
    if syntax.opener is not None:
        text = f"Let me see.\n{text}"
    whole = reply(syntax, [text])
    assert len(whole.calls) == 3
    for index in range(len(text) + 1):
        assert facts(reply(syntax, [text[:index], text[index:]])) == facts(whole)
    assert facts(reply(syntax, list(text))) == facts(whole)


def facts(message):
    """A message, however it came in pieces."""
    return (
        message.content,
        message.reasoning,
        [(c.name, c.kind, c.arguments, c.is_complete) for c in message.calls],
    )


def odd_texts(syntax):
    """Texts of words of a format and whole calls, in any order."""
    words = (
        *(*syntax.section_open, *syntax.before_name, *syntax.before_arguments),
        *(*syntax.after_arguments, *syntax.between, *syntax.section_close),
    )
    fragments = st.sampled_from(
        [
            *words,
            *("<", ">", "]", "}", '"', "\n", "f", "g", "x", "é", '{"a": "', "<think>", "</think>"),
            *("<parameter=text>\n", "<parameter=note>\nnu", "ll\n</parameter>", "</function>"),
            calls_text(syntax, [("f", ARGUMENTS[0])]),
            calls_text(syntax, [("code.run", {"input": "a\n\\u00e9"}), ("nobody", {})]),
        ]
    )
    return st.lists(fragments, max_size=10).map("".join)


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_text_cut_anywhere_gives_the_same_message_and_never_raises(syntax, data):
    text = data.draw(odd_texts(syntax))
    thinking = data.draw(st.sampled_from(list(Thinking)))
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    places = sorted({0, len(text), *cuts})
    pieces = [text[a:b] for a, b in pairwise(places)]
    whole = reply(syntax, [text], thinking=thinking)
    assert facts(reply(syntax, pieces, thinking=thinking)) == facts(whole)
    assert facts(reply(syntax, list(text), thinking=thinking)) == facts(whole)


@pytest.mark.parametrize("syntax", [s for s in SYNTAXES if s.tags], ids=lambda s: s.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_control_tokens_in_any_order_are_read_alike_however_the_text_between_is_cut(syntax, data):
    pieces = cut_at(data.draw(odd_texts(syntax)), syntax.tags)
    whole = reply(syntax, pieces, token_tags=syntax.tags)
    characters = [c for piece in pieces for c in ([piece] if piece in syntax.tags else piece)]
    assert facts(reply(syntax, characters, token_tags=syntax.tags)) == facts(whole)


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
def test_a_custom_call_is_told_as_its_text(syntax):
    text = calls_text(syntax, [("code.run", {"input": 'x = "a\\n"\n# é 😀'})])
    assert accepts(calls_part(syntax, TOOLS, max_calls=1), text, ())
    for pieces in ([text], list(text)):
        message = reply(syntax, pieces)
        assert calls_of(message) == [("code.run", 'x = "a\\n"\n# é 😀')]
        assert message.calls[0].kind is ToolKind.CUSTOM


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
def test_calls_of_other_tools_or_with_other_arguments_are_not_allowed(syntax):
    part = text_with_calls_part(syntax, (F, G), max_calls=None)
    for wrong in (
        ("nobody", {}),
        ("g", {"x": "1"}),
        ("f", {"text": "t"}),
        ("f", {"text": "t", "note": "n", "unit": "k"}),
        ("f", {"text": "t", "note": "n", "days": [10]}),
        ("f", {"text": "t", "note": "n", "code": "abc"}),
    ):
        assert not accepts(part, calls_text(syntax, [wrong]), syntax.tags), wrong


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
def test_text_is_free_until_a_call_begins(syntax):
    part = text_with_calls_part(syntax, TOOLS, max_calls=None)
    for text in ("", "hi", "<b> [x] {", '{"city": "name"}', '{"names": 1}', "{", "; , ]"):
        assert accepts(part, text, syntax.tags), text
        assert reply(syntax, [text]).content == text
    call = calls_text(syntax, [("g", {})])
    if syntax.opener is not None:
        assert accepts(part, f"Let me see. {call}", syntax.tags)
    assert not accepts(part, call[:-1], syntax.tags)


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
def test_whatever_the_grammar_lets_through_is_read_and_fits_its_tool(syntax):
    vocabulary = byte_vocabulary(syntax.tags)
    tools = ToolUse(CallMode.REQUIRED, (F, G), max_calls=2)
    spec = compose(tools, None, Thinking.NONE, ReplyFormat(syntax))
    assert isinstance(spec, Structure)
    grammar = compile_grammar(spec, vocabulary)
    schemas = {"f": SCHEMA, "g": G.schema}
    for seed in range(6):
        token_ids = walk(grammar.matcher(), vocabulary, seed)
        text = "".join(spelled(vocabulary, token_ids))
        message = reply(syntax, cut_at(text, syntax.tags), tools=(F, G), token_tags=syntax.tags)
        assert message.calls
        assert message.content is None
        for call in message.calls:
            assert call.is_complete
            validate(json.loads(call.arguments), schemas[call.name])


def spelled(vocabulary, token_ids: list[int]) -> list[str]:
    controls = {control.token_id: control.text for control in vocabulary.controls}
    data, pieces = b"", []
    for token_id in token_ids:
        if token_id in controls:
            pieces += [data.decode(), controls[token_id]]
            data = b""
        else:
            data += vocabulary.token_bytes[token_id]
    return [*pieces, data.decode()]


def walk(matcher, vocabulary, seed: int) -> list[int]:
    """Tokens drawn from the mask until the text ends; what closes things first once it is long."""
    choose = random.Random(seed)
    row = np.zeros(vocabulary.num_words, np.int32)
    token_ids: list[int] = []
    while not matcher.is_terminated:
        matcher.fill_bitmask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        token_id = choose.choice(allowed)
        if len(token_ids) > 150:
            closing = [*vocabulary.end_token_ids, *closing_bytes(token_ids)]
            token_id = next((t for t in closing if t in allowed), token_id)
        assert matcher.accept_token(token_id)
        token_ids.append(token_id)
        assert len(token_ids) < 1000
    return [token_id for token_id in token_ids if token_id not in vocabulary.end_token_ids]


def closing_bytes(token_ids: list[int]) -> list[int]:
    """Bytes that bring a value to its end, the best first."""
    end = b"\n</parameter>"
    lengths = [n for n in range(len(end)) if token_ids[len(token_ids) - n :] == list(end[:n])]
    return [end[lengths[-1]], *b'"}\n']


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
def test_a_format_is_recognised_in_what_it_writes(syntax):
    text = calls_text(syntax, [("f", {"a": "b"})])
    expected = None if syntax.name == "json" else syntax
    assert shown_format(f"x {text} y", "f", {"a": "b"}) == expected
    assert shown_format("f a b", "f", {"a": "b"}) is None


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
def test_a_call_cut_before_its_arguments_is_no_text(syntax):
    text = calls_text(syntax, [("g", {})])
    before_name = "".join((*syntax.section_open, *syntax.before_name))
    head = text[: len(before_name) + 1]
    message = reply(syntax, [head], is_cut=True)
    assert message.calls == []
    assert message.content == ("" if syntax.opener is not None else head)


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "json_block", "json"])
def test_the_white_space_between_calls_may_end_the_answer(name):
    syntax = FORMATS[name]
    many, one = (calls_part(syntax, (F, G), max_calls=number) for number in (None, 1))
    answers: list[list[tuple[str, Any]]] = [[("g", {})], [("g", {}), ("f", ARGUMENTS[0])]]
    for made in answers:
        text = calls_text(syntax, made) + "\n"
        assert accepts(many, text, ()), text
        assert not accepts(many, text + "\n", ())
        assert not accepts(one, text, ())
        message = reply(syntax, [text], tools=(F, G))
        assert (message.content, calls_of(message)) == (None, made)


def test_a_block_of_json_is_a_call_and_other_blocks_are_text():
    syntax = FORMATS["json_block"]
    part = text_with_calls_part(syntax, (F, G), max_calls=None)
    call = '```json\n{\n  "name": "g",\n  "arguments": {}\n}\n```'
    code = 'Try this:\n```python\nprint("```")\n```\n'
    for text in (code, call, f"{code}{call}\n{call}"):
        assert accepts(part, text, ()), text
    for text in ('```json\n{"a": 1}\n```', call.replace("g", "h"), f"{code}```json"):
        assert not accepts(part, text, ()), text
    message = reply(syntax, [f"{code}{call}\n{call}"])
    assert (message.content, calls_of(message)) == (code.rstrip(), [("g", {})] * 2)


@pytest.mark.parametrize("name", ["llama3_json", "json"])
def test_a_document_that_could_be_read_as_a_bare_call_is_a_call_or_nothing(name):
    syntax = FORMATS[name]
    anything = JsonSchema('{"type": "object", "$ref": "#/$defs/any", "$defs": {"any": {}}}')
    key = json.loads(syntax.before_arguments[3])
    part = calls_or_json_part(syntax, (F, G), anything, max_calls=1)
    for text in ('{"n": 1}', '{"name": "x"}', '{"name": "f"}', f'{{"name": "x", "{key}": {{}}}}'):
        assert accepts(part, text, ()), text
        assert reply(syntax, [text], tools=(F, G)).content == text
    call = calls_text(syntax, [("f", ARGUMENTS[2])])
    assert accepts(part, call, ())
    assert calls_of(reply(syntax, [call], tools=(F, G))) == [("f", ARGUMENTS[2])]
    for text in (f'{{"name": "g", "{key}": {{"x": 1}}}}', f'{{"{key}": {{}}, "name": "g"}}', "[]"):
        assert not accepts(part, text, ()), text


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda s: s.name)
def test_what_looks_like_a_call_inside_a_document_is_data(syntax):
    for name in ("f", "g"):
        calls = calls_text(syntax, [(name, {})])
        document = json.dumps({"text": calls, "raw": 1})
        for pieces in ([document], list(document)):
            parser = ReplyParser(
                tools=TOOLS, reply_format=ReplyFormat(syntax), calls_anywhere=False
            )
            events = [event for piece in pieces for event in parser.feed(piece)]
            message = fold(events + parser.finish())
            assert (message.content, message.calls) == (document, [])
    parser = ReplyParser(tools=TOOLS, reply_format=ReplyFormat(syntax), calls_anywhere=False)
    made = [("g", {}), ("f", ARGUMENTS[0])]
    message = fold(parser.feed("\n" + calls_text(syntax, made)) + parser.finish())
    assert calls_of(message) == made
