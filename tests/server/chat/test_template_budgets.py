"""Long chats with many tools keep to the usual budget with every template."""

from __future__ import annotations

import contextlib
from typing import Any

import jinja2
import pytest

from server.chat.metered.budget import RenderLimits
from server.chat.metered.environment import MeteredTemplate
from server.config import ServerConfig
from tests.server.chat.test_metered import templates

TEXT = "The quick brown fox jumps over the lazy dog. " * 20
ARGUMENTS = {"a": TEXT, "b": [1, 2.5]}
PROPERTIES = {f"p{number}": {"type": "string", "description": TEXT[:200]} for number in range(10)}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": f"f{number}",
            "description": TEXT[:300],
            "parameters": {
                "type": "object",
                "properties": PROPERTIES,
                "required": list(PROPERTIES),
            },
        },
    }
    for number in range(100)
]


def turn(number: int) -> list[dict[str, Any]]:
    """A question, a call, its result, an answer."""
    call_id = f"call{number:05d}"
    call = {"id": call_id, "type": "function", "function": {"name": "f1", "arguments": ARGUMENTS}}
    return [
        {"role": "user", "content": TEXT},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": TEXT, "tool_call_id": call_id, "name": "f1"},
        {"role": "assistant", "content": TEXT},
    ]


@pytest.mark.parametrize("name", templates())
def test_200_messages_and_100_tools_are_within_the_budget(name):
    messages = [message for number in range(50) for message in turn(number)]
    messages.append({"role": "user", "content": TEXT})
    template = MeteredTemplate(templates()[name], RenderLimits.of(ServerConfig()))
    variables = {"documents": None, "bos_token": "<s>", "eos_token": "</s>"}
    said = [message for message in messages if message["role"] != "tool" and message["content"]]
    for chat in (messages, said):
        # Some templates refuse tools, or turns that are not one after the other.
        with contextlib.suppress(jinja2.TemplateError, TypeError):
            template.render(
                variables | {"messages": chat, "tools": TOOLS, "add_generation_prompt": True}
            )
