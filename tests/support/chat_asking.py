"""One chat request to a server of its own, and what came back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx

from tests.support.chat_server import MODEL, make_services, running

if TYPE_CHECKING:
    from server.services import Services
    from tests.support.chat_server import ScriptedServices

USER: Any = [{"role": "user", "content": "hi"}]
NUMBER: Any = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
F: Any = {"type": "function", "function": {"name": "f", "parameters": NUMBER}}


def post(services: Services, **fields: object) -> httpx.Response:
    """The answer to a request with these fields, from a server around these services."""
    body = {"model": MODEL, "messages": USER} | fields
    with running(services) as url:
        return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)


def choice_of(services: Services, **fields: object) -> Any:
    """The first choice of an answer in one piece."""
    response = post(services, **fields)
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


def streamed(services: Services, **fields: object) -> list[Any]:
    """The chunks of a stream."""
    response = post(services, stream=True, **fields)
    events = [block.removeprefix("data: ") for block in response.text.strip().split("\n\n")]
    assert events[-1] == "[DONE]"
    return [json.loads(event) for event in events[:-1]]


def error_of(**fields: object) -> Any:
    """The error of a request that is refused before anything is generated."""
    services = make_services("ok")
    response = post(services, **fields)
    assert response.status_code == 400, response.text
    assert services.engine.requests == []
    return response.json()["error"]


def prompt_of(services: ScriptedServices) -> str:
    """What the engine was asked, once, without control tokens."""
    (prompt,) = services.prompt_texts()
    return prompt


def post_constraint(**fields: object) -> Any:
    """The matcher that a request's grammar begins with."""
    services = make_services("x", pause_after=0)
    body = {"model": MODEL, "messages": USER, "stream": True} | fields
    with (
        running(services) as url,
        httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=60) as response,
    ):
        assert response.status_code == 200
    return services.engine.requests[0].constraint
