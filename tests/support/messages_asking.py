"""Requests to /v1/messages, and what is said in them."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.chat_server import (
    MODEL,
    THINKING_TEMPLATE,
    TOOL_TEMPLATE,
    make_services,
    running,
)

PATH = "/v1/messages"
USER: Any = [{"role": "user", "content": "hi"}]
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
TOOLS: Any = [
    {"name": "f", "input_schema": SCHEMA},
    {"name": "g", "input_schema": {"type": "object", "properties": {}}},
]
F = '<tool_call>\n{"name": "f", "arguments": {"n": 1, "s": "天 </b> }"}}\n</tool_call>'
G = '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'
TEXT = {"type": "text", "text": "hi"}
CALL = {"type": "tool_use", "id": "t1", "name": "f", "input": {"n": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "2"}
DOCUMENT: Any = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Grass is green."},
    "title": "Colours",
    "context": "from a book",
    "citations": {"enabled": True},
}


def ask(*texts: str | None, services: Any = None, **fields: Any) -> httpx.Response:
    """The answer of a server that writes these texts; fields that are None are left out."""
    services = services or make_services(*texts, template=THINKING_TEMPLATE)
    body = {"model": MODEL, "max_tokens": 200, "messages": USER} | fields
    body = {name: value for name, value in body.items() if value is not None}
    with running(services) as url:
        return httpx.post(f"{url}{PATH}", json=body, timeout=60)


def prompt_of(template: str = TOOL_TEMPLATE, **fields: Any) -> str:
    """The prompt that a request comes to."""
    services = make_services("ok", template=template)
    response = ask(services=services, **fields)
    assert response.status_code == 200, response.text
    vocabulary = services.vocabulary
    controls = {control.token_id: control.text.encode() for control in vocabulary.controls}
    token_ids = services.engine.requests[0].prompt_token_ids
    return b"".join(
        controls[i] if i in controls else vocabulary.token_bytes[i] for i in token_ids
    ).decode()
