"""Ollama's API: what is refused, in which words, and the shape of errors."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from server.config import ServerConfig, hash_api_key
from tests.support.chat_server import MODEL, make_services, running

CHAT = "/api/chat"
GENERATE = "/api/generate"
USER: Any = [{"role": "user", "content": "hi"}]
CALL = {"function": {"name": "f", "arguments": {"n": 1}}}
REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    (CHAT, {"model": None}, "model: Input should be a valid string"),
    (
        CHAT,
        {"options": {"num_predict": 0}},
        "options.num_predict: at least 1 is needed; -1 means no limit",
    ),
    (
        CHAT,
        {"options": {"temperature": 3}},
        "options.temperature: Input should be less than or equal to 2",
    ),
    (
        CHAT,
        {"options": {"stop": [""]}},
        "options.stop: an empty stop string would end every answer at once",
    ),
    (
        CHAT,
        {"messages": [{"role": "user", "content": "x", "images": ["aGk="]}]},
        "messages[0].images: the served models read text alone; remove them",
    ),
    (
        CHAT,
        {"messages": [*USER, {"role": "tool", "content": "1", "tool_name": "f"}]},
        "messages[1]: no call before this result waits for it",
    ),
    (
        CHAT,
        {
            "messages": [
                {"role": "assistant", "tool_calls": [CALL | {"id": "c"}]},
                {"role": "tool", "content": "1", "tool_call_id": "d"},
            ]
        },
        "messages[1]: no call before this result waits for it",
    ),
    (
        CHAT,
        {"messages": [*USER, {"role": "assistant", "tool_calls": [CALL]}, *USER]},
        "messages[2].role: tool messages must answer these calls first: messages[1].tool_calls[0]",
    ),
    (
        CHAT,
        {"format": {"type": "strin"}},
        "Invalid schema for format: (root): 'type' 'strin' is not a type; use one of null, "
        "boolean, object, array, number, string, integer",
    ),
    (
        GENERATE,
        {"suffix": "x"},
        "suffix: this parameter is not supported; the served models write what follows, not what "
        "is between",
    ),
    (
        GENERATE,
        {"context": [1]},
        "context: this parameter is not supported; use /api/chat, and send the messages so far",
    ),
    (
        GENERATE,
        {"images": ["x"]},
        "images: this parameter is not supported; the served models read text alone",
    ),
]


@pytest.fixture(scope="module")
def url():
    with running(make_services(None)) as url:
        yield url


@pytest.mark.parametrize(
    ("path", "fields", "message"), REFUSALS, ids=[m[:30] for *_, m in REFUSALS]
)
def test_what_is_not_honoured_is_refused_by_name(path, fields, message, url):
    asked = {"messages": USER} if path == CHAT else {"prompt": "hi"}
    response = httpx.post(f"{url}{path}", json={"model": MODEL} | asked | fields, timeout=60)
    assert (response.status_code, response.json()) == (400, {"error": message})


def test_empty_fields_that_would_be_refused_ask_for_nothing(url):
    empty: Any = {"suffix": "", "context": [], "images": [], "template": ""}
    response = httpx.post(
        f"{url}{GENERATE}", json={"model": MODEL, "prompt": "x"} | empty, timeout=60
    )
    assert response.status_code == 200


def test_errors_have_ollamas_shape():
    services = make_services("ok", config=ServerConfig(api_key_hashes=(hash_api_key("k"),)))
    with running(services) as url, httpx.Client(base_url=url, timeout=60) as http:
        refused = http.get("/api/tags")
        assert refused.status_code == 401
        assert list(refused.json()) == ["error"]
        http.headers["authorization"] = "Bearer k"
        assert http.get("/api/tags").status_code == 200
        missing = http.post("/api/pull", json={})
        assert (missing.status_code, list(missing.json())) == (404, ["error"])
        unnamed = http.post("/api/show", json={})
        assert unnamed.json() == {"error": "model: this field is required"}
        absent = http.post("/api/show", json={"name": "x"})
        assert absent.status_code == 404
