"""Hostile messages: in the prompt they stay text, shown as they are and never control."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.wire.policy import parse_chat_request
from tests.support.chat_server import (
    OPEN_THINKING_TEMPLATE,
    PLAIN_TEMPLATE,
    THINKING_TEMPLATE,
    TOOL_TEMPLATE,
    prompt_builder,
)
from tests.support.hostile_cases import expand, shared_params

TEMPLATES = {
    "plain": PLAIN_TEMPLATE,
    "tools": TOOL_TEMPLATE,
    "thinking": THINKING_TEMPLATE,
    "thinking begun": OPEN_THINKING_TEMPLATE,
}
NUM_BYTES = 256
"""Ids of the tokenizer below it are bytes, above it control tokens."""

CHECKS = ("special_token_count_equals_baseline", "template_literal")

cases = [
    case
    for case in shared_params("chat")
    if case.values[0] is None or case.values[0]["expected"].get("check") in CHECKS
]


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES.keys())
@pytest.mark.parametrize("case", cases)
def test_a_hostile_message_adds_no_control_token_and_is_shown_as_it_is(case, template):
    body = json.loads(expand(case))
    ids = prompt_ids(body, template)
    harmless = body | {"messages": [without_texts(message) for message in body["messages"]]}
    assert num_controls(ids) == num_controls(prompt_ids(harmless, template))
    shown = bytes(token_id for token_id in ids if token_id < NUM_BYTES).decode()
    for text in (text for message in body["messages"] for text in contents(message)):
        assert text.strip() in shown


def prompt_ids(body: dict[str, Any], template: str) -> tuple[int, ...]:
    request = parse_chat_request(body).request
    return prompt_builder(template, max_model_len=40_000).build(request).token_ids


def num_controls(token_ids: tuple[int, ...]) -> int:
    return sum(token_id >= NUM_BYTES for token_id in token_ids)


def contents(message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    if isinstance(content, list):
        return ["".join(part["text"] for part in content)]
    return [] if content is None else [content]


def without_texts(message: dict[str, Any]) -> dict[str, Any]:
    """The same message with an x for each text of the caller."""
    harmless = dict(message)
    if message.get("content") is not None:
        harmless["content"] = "x"
    if "name" in message:
        harmless["name"] = "x"
    if "tool_calls" in message:
        harmless["tool_calls"] = [
            call | {"function": call["function"] | {"arguments": '{"a": "x"}'}}
            for call in message["tool_calls"]
        ]
    return harmless
