"""Whatever a client sends or a model writes is read or refused by name; nothing crashes."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.calls.formats import FORMATS
from server.calls.tool import CallableTool, ToolKind
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.json_guard import parse_json_object
from server.reply.parser import ReplyParser
from server.request_errors import MalformedBodyError
from tests.fuzz.budget import examples
from tests.fuzz.strategies import json_texts, model_texts
from tests.support.folding import fold

PROPERTIES = {"a": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}}
TOOLS = [
    CallableTool("f", {"type": "object", "properties": PROPERTIES}),
    CallableTool("g", {"type": "object"}),
    CallableTool("c", {"type": "object"}, kind=ToolKind.CUSTOM),
]


@examples(200)
@given(json_texts())
def test_the_json_guard(body):
    try:
        value = parse_json_object(body, max_depth=8, max_number_chars=40)
    except MalformedBodyError:
        return
    assert value == json.loads(body)
    text = json.dumps(
        value, allow_nan=False, ensure_ascii=False
    ).encode()  # finite, whole characters
    assert parse_json_object(text, max_depth=8, max_number_chars=400) == value


@pytest.mark.parametrize("calls_anywhere", [True, False])
@pytest.mark.parametrize("syntax", FORMATS.values(), ids=FORMATS.keys())
def test_the_reply_parser_whatever_the_text_and_wherever_it_is_cut(syntax, calls_anywhere):
    def told(pieces, thinking):
        parser = ReplyParser(
            tools=TOOLS,
            thinking=thinking,
            reply_format=ReplyFormat(syntax),
            calls_anywhere=calls_anywhere,
        )
        events = [event for piece in pieces for event in parser.feed(piece)] + parser.finish()
        message = fold(events)
        calls = [(call.name, call.arguments, call.is_complete) for call in message.calls]
        return message.content, message.reasoning, calls

    @examples(25)
    @given(
        text=model_texts(syntax),
        cuts=st.lists(st.integers(0, 120), max_size=5),
        thinking=st.sampled_from(Thinking),
    )
    def read(text, cuts, thinking):
        places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        pieces = [text[begin:end] for begin, end in pairwise(places)]
        whole = told([text], thinking)
        assert whole == told(pieces, thinking) == told(list(text), thinking)
        content, reasoning, calls = whole
        assert len(content or "") + len(reasoning or "") <= len(text)
        assert all(name in {"f", "g", "c"} for name, _, _ in calls)

    read()
