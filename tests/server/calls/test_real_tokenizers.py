"""Calls in the tokens of real models: allowed by the grammar, and read back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.output import FinishReason, RequestOutput
from grammars.compile import compile_grammar
from grammars.spec import JsonObject
from server.calls.formats import FORMATS, calls_text
from server.calls.tool import CallableTool
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.composition import compose
from server.reply.choice import ChoiceReply
from server.tool_choice import CallMode, ToolUse
from tests.support.folding import fold
from tests.support.scripted_engine import token_ids_of
from tests.support.tokenizers import real_vocabulary

SCHEMA: Any = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = (CallableTool("get_weather", SCHEMA), CallableTool("f", {"type": "object"}))
CALLS = [("get_weather", {"city": "São Paulo ☔", "days": 3}), ("f", {})]


@pytest.mark.parametrize(
    ("tokenizer", "name", "num_controls"),
    [
        ("qwen3", "hermes", 4),
        ("qwen3", "qwen3_coder", 4),
        ("mistral-v3", "mistral", 1),
        ("smollm2", "hermes", 0),
        ("smollm2", "llama3_json", 0),
        ("deepseek-v4", "deepseek_v3", 8),
        ("deepseek-v4", "deepseek_v31", 8),
    ],
)
@pytest.mark.parametrize("mode", [CallMode.REQUIRED, CallMode.AUTO])
def test_calls_are_written_in_the_tokens_of_the_model(tokenizer, name, num_controls, mode):
    vocabulary = real_vocabulary(tokenizer)
    reply_format = ReplyFormat(FORMATS[name])
    spec = compose(ToolUse(mode, TOOLS), None, Thinking.NONE, reply_format)
    assert spec is not None
    matcher = compile_grammar(spec, vocabulary).matcher()
    token_ids = token_ids_of(vocabulary, calls_text(reply_format.calls, CALLS))
    controls = {control.token_id for control in vocabulary.controls}
    assert sum(token_id in controls for token_id in token_ids) == num_controls
    assert all(matcher.accept_token(token_id) for token_id in token_ids)
    assert matcher.is_complete
    reply = ChoiceReply(
        vocabulary, reply_format=reply_format, tools=TOOLS, thinking=Thinking.NONE, stops=()
    )
    steps = [reply.add(RequestOutput("r", (token_id,))) for token_id in token_ids]
    steps.append(reply.add(RequestOutput("r", (), finish_reason=FinishReason.STOP)))
    message = fold(event for step in steps for event in step.events)
    assert [(call.name, json.loads(call.arguments)) for call in message.calls] == CALLS
    assert message.content is None


@pytest.mark.parametrize(
    ("mode", "document", "thinking", "tag", "before"),
    [
        (CallMode.AUTO, None, Thinking.NONE, "<tool_call>", "I call "),
        (CallMode.NONE, JsonObject(), Thinking.OPEN, "</think>", "hm, "),
    ],
)
def test_b057_a_tag_with_a_token_is_that_token_and_text_cannot_spell_it(
    mode, document, thinking, tag, before
):
    """Else the grammar would take for a tag what is told as text, and bind the text behind it."""
    vocabulary = real_vocabulary("qwen3")
    tools = ToolUse(mode, TOOLS if mode is CallMode.AUTO else ())
    spec = compose(tools, document, thinking, ReplyFormat(FORMATS["hermes"]))
    assert spec is not None
    grammar = compile_grammar(spec, vocabulary)
    (token_id,) = (c.token_id for c in vocabulary.controls if c.text == tag)
    for token_ids, is_allowed in [
        (vocabulary.encode(f"{before}{tag[:-1]} ".encode()), True),
        ([*vocabulary.encode(before.encode()), token_id], True),
        (vocabulary.encode(f"{before}{tag}".encode()), False),
    ]:
        matcher = grammar.matcher()
        assert all(matcher.accept_token(token) for token in token_ids) == is_allowed, token_ids
