"""Hostile texts of the model: parsed the same in pieces, and never taken for what they are not."""

from __future__ import annotations

import json

import pytest

from server.calls.tool import CallableTool
from server.chat.thinking import Thinking
from server.reply.parser import ReplyParser
from tests.support.folding import fold
from tests.support.hostile_cases import expand, shared_params


@pytest.mark.parametrize("case", shared_params("parser"))
def test_a_hostile_model_text_is_parsed_the_same_in_pieces(case):
    text = expand(case).decode()
    tools = [CallableTool(name, {"type": "object"}) for name in case.get("tools") or []]
    size = case.get("chunk") or 7
    messages = []
    for pieces in ([text], [text[i : i + size] for i in range(0, len(text), size)]):
        parser = ReplyParser(tools=tools, thinking=Thinking.OPTIONAL)
        events = [event for piece in pieces for event in parser.feed(piece)] + parser.finish()
        message = fold(events)
        calls = [(call.name, call.arguments, call.is_complete) for call in message.calls]
        messages.append((message.content, message.reasoning, calls))
    assert messages[0] == messages[1]
    check = case["expected"]["check"]
    content, _, calls = messages[0]
    if check in ("as_content", "not_a_call", "never_evaluated", "as_content_or_error"):
        assert (content, calls) == (text, [])
    if check == "one_call_whole_argument":
        assert [json.loads(arguments) for _, arguments, _ in calls] == [{"a": "</tool_call>"}]
