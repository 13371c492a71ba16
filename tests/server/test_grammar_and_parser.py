"""The grammar of answers and the parser of replies agree: what may be written is read so."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from jsonschema import validate

from engine.output import FinishReason, RequestOutput
from grammars.compile import compile_grammar
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.composition import compose
from server.document import requested_document
from server.reply.choice import ChoiceReply
from server.tool_choice import tool_use
from server.wire.policy import parse_chat_request
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.chat_server import CONTROLS
from tests.support.folding import fold

SCHEMA: Any = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "maxLength": 12},
        "list": {"type": "array", "items": {"type": "integer", "maximum": 99}, "maxItems": 3},
        "inner": {"type": "object", "properties": {"x": {"enum": ["</tool_call>", "}", '"']}},
                  "required": ["x"], "additionalProperties": False},
    },
    "required": ["text", "inner"],
    "additionalProperties": False,
}  # fmt: skip
TOOLS: Any = [
    {"type": "function", "function": {"name": "f", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "g"}},
]
FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "d", "schema": SCHEMA}}
SCHEMAS: Any = {"f": SCHEMA, "g": {"type": "object", "additionalProperties": False}}


def walk(matcher, vocabulary, seed: int) -> list[int]:
    """Tokens drawn evenly from the mask until the text ends; quotes first once it gets long."""
    choose = random.Random(seed)
    row = np.zeros(vocabulary.num_words, np.int32)
    token_ids: list[int] = []
    while not matcher.is_terminated:
        matcher.fill_bitmask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        token_id = choose.choice(allowed)
        if len(token_ids) > 300:
            token_id = next((t for t in vocabulary.end_token_ids if t in allowed), token_id)
        assert matcher.accept_token(token_id)
        token_ids.append(token_id)
        assert len(token_ids) < 3000
    return [token_id for token_id in token_ids if token_id not in vocabulary.end_token_ids]


@pytest.mark.parametrize("controls", [CONTROLS, CONTROLS[:2]], ids=["tokens", "spelled"])
@pytest.mark.parametrize(
    ("fields", "num_calls"),
    [
        ({"tool_choice": "required"}, range(1, 100)),
        ({"tool_choice": "required", "parallel_tool_calls": False}, range(1, 2)),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, range(1, 2)),
        ({"response_format": FORMAT}, range(100)),
    ],
)
def test_every_call_that_a_grammar_allows_is_read_and_fits_its_tool(fields, num_calls, controls):
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": TOOLS} | fields
    request = parse_chat_request(body).request
    document = requested_document(request, max_choices=1, max_tags=100)
    tools = tool_use(request)
    vocabulary = byte_vocabulary(controls)
    document_spec = None if document is None else document.spec
    spec = compose(tools, document_spec, Thinking.NONE, ReplyFormat())
    assert spec is not None
    grammar = compile_grammar(spec, vocabulary)
    for seed in range(15):
        token_ids = walk(grammar.matcher(), vocabulary, seed)
        reply = ChoiceReply(
            vocabulary,
            reply_format=ReplyFormat(),
            tools=tools.tools,
            thinking=Thinking.NONE,
            stops=(),
        )
        output = RequestOutput("r", tuple(token_ids), finish_reason=FinishReason.STOP)
        message = fold(reply.add(output).events)
        for call in message.calls:
            assert call.is_complete
            validate(json.loads(call.arguments), SCHEMAS[call.name])
        if message.calls:
            assert len(message.calls) in num_calls
            assert message.content is None
        else:
            assert 0 in num_calls
            validate(json.loads(message.content or ""), SCHEMA)
