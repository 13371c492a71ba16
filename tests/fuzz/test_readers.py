"""Whatever a client sends or a model writes is read or refused by name; nothing crashes."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from server.calls.tool import CallableTool
from server.chat.thinking import Thinking
from server.errors import MalformedBodyError
from server.json_guard import parse_json_object
from server.reply.message import fold
from server.reply.parser import ReplyParser
from tests.fuzz.budget import examples
from tests.fuzz.strategies import json_texts, model_texts

TOOLS = [CallableTool(name, {"type": "object"}) for name in ("f", "g")]


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


@examples(200)
@given(model_texts(), st.lists(st.integers(0, 60), max_size=5), st.sampled_from(Thinking))
def test_the_reply_parser_whatever_the_text_and_wherever_it_is_cut(text, cuts, thinking):
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[begin:end] for begin, end in pairwise(places)]
    whole, cut = told([text], thinking), told(pieces, thinking)
    assert whole == cut
    content, reasoning, calls = whole
    assert len(content or "") + len(reasoning or "") <= len(text)
    assert all(name in {"f", "g"} for name, _, _ in calls)


def told(pieces, thinking):
    parser = ReplyParser(tools=TOOLS, thinking=thinking)
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.finish()
    message = fold(events)
    calls = [(call.name, call.arguments, call.is_complete) for call in message.calls]
    return message.content, message.reasoning, calls
