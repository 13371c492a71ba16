"""POST /v1/messages: what is refused, in which words, and the shape of errors; counted tokens."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from server.config import ServerConfig, hash_api_key
from tests.support.chat_server import MODEL, make_services, running
from tests.support.messages_asking import (
    CALL,
    DOCUMENT,
    PATH,
    RESULT,
    TEXT,
    TOOLS,
    USER,
)

IMAGE: Any = {"type": "image", "source": {"type": "url", "url": "x"}}
IN_PICTURES: Any = {"type": "content", "content": [IMAGE]}
PDF: Any = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"max_tokens": None}, "max_tokens: this field is required"),
    ({"messages": []}, "messages: at least 1 is needed, got 0"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        "messages[0].content[0].type: 'image' is not supported; the served models read text alone",
    ),
    (
        {"messages": [{"role": "user", "content": [DOCUMENT | {"source": PDF}]}]},
        "messages[0].content[0].source.type: 'base64' is not supported; the served models read "
        "text alone, so send the document's text as a source of type 'text'",
    ),
    (
        {"messages": [{"role": "user", "content": [DOCUMENT | {"source": IN_PICTURES}]}]},
        "messages[0].content[0].source.content[0].type: 'image' is not supported; the served "
        "models read text alone",
    ),
    (
        {"messages": [*USER, {"role": "assistant", "content": [DOCUMENT]}]},
        "messages[1].content[0].type: 'document' is a block of the role 'user', not of 'assistant'",
    ),
    (
        {"messages": [{"role": "user", "content": [RESULT | {"content": [IMAGE]}]}]},
        "messages[0].content[0].content[0].type: 'image' is not supported; the served models read "
        "text alone",
    ),
    (
        {
            "messages": [
                {"role": "user", "content": [RESULT | {"content": [DOCUMENT | {"source": PDF}]}]}
            ]
        },
        "messages[0].content[0].content[0].source.type: 'base64' is not supported; the served "
        "models read text alone, so send the document's text as a source of type 'text'",
    ),
    (
        {"messages": [*USER, {"role": "assistant", "content": [CALL]}, *USER]},
        "messages[2].role: tool messages must answer these calls first: t1",
    ),
    (
        {"messages": [*USER, {"role": "assistant", "content": [CALL]}]},
        "messages[2].role: tool messages must answer these calls first: t1",
    ),
    (
        {"messages": [{"role": "user", "content": [RESULT]}]},
        "messages[0].content[0].tool_use_id: no assistant message before this one has a tool call "
        "'t1'",
    ),
    (
        {"messages": [{"role": "user", "content": [TEXT, CALL]}]},
        "messages[0].content[1].type: 'tool_use' is a block of the role 'assistant', not of 'user'",
    ),
    (
        {"tools": [{"type": "bash_20250124", "name": "bash"}]},
        "tools[0].type: 'bash_20250124' is not supported; declare a tool of your own, with a name "
        "and an input_schema",
    ),
    ({"tools": [{"name": "f"}]}, "tools[0].input_schema: this field is required"),
    (
        {"tools": [{"name": "f f", "input_schema": {"type": "object"}}]},
        "tools[0].name: 1 to 128 of the characters A-Z a-z 0-9 _ - . are needed",
    ),
    ({"tool_choice": {"type": "any"}}, "tool_choice: no tools are given; add tools or remove it"),
    (
        {"tools": TOOLS, "tool_choice": {"type": "tool", "name": "h"}},
        "tool_choice.name: no tool is named 'h'",
    ),
    (
        {"tools": TOOLS, "tool_choice": {"type": "tool"}},
        "tool_choice.name: this field is required",
    ),
    (
        {"stop_sequences": [""]},
        "stop_sequences: an empty stop string would end every answer at once",
    ),
    (
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "strin"}}}},
        "Invalid schema for output_config.format.schema: (root): 'type' 'strin' is not a type; use "
        "one of null, boolean, object, array, number, string, integer",
    ),
    (
        {
            "output_config": {"format": {"type": "json_schema", "schema": {}}},
            "output_format": {"type": "json_schema", "schema": {}},
        },
        "output_format: cannot be combined with output_config.format",
    ),
    (
        {
            "output_config": {"format": {"type": "json_schema", "schema": {}}},
            "messages": [*USER, {"role": "assistant", "content": "{"}],
        },
        "messages[1]: a constraint holds for whole answers, so it cannot be combined with one",
    ),
    (
        {"mcp_servers": [{"url": "x"}]},
        "mcp_servers: this parameter is not supported; connect to them in your program, and pass "
        "their tools",
    ),
    (
        {"container": "c"},
        "container: this parameter is not supported; this server runs no code; remove it",
    ),
    (
        {"compaction": {}},
        "compaction: this parameter is not supported; shorten the messages in your program",
    ),
]


@pytest.fixture(scope="module")
def url():
    with running(make_services("ok")) as url:
        yield url


@pytest.mark.parametrize(
    ("fields", "message"), REFUSALS, ids=[m.split(":")[0] for _, m in REFUSALS]
)
def test_what_is_not_honoured_is_refused_by_name(fields, message, url):
    body = {"model": MODEL, "max_tokens": 20, "messages": USER} | fields
    body = {name: value for name, value in body.items() if value is not None}
    response = httpx.post(f"{url}{PATH}", json=body, timeout=60)
    assert (response.status_code, response.json()["error"]["message"]) == (400, message)


def test_errors_have_anthropics_shape_on_these_paths_alone():
    config = ServerConfig(api_key_hashes=(hash_api_key("k"),), max_body_bytes=500)
    services = make_services("ok", config=config)
    ask_ = {"model": MODEL, "max_tokens": 9, "messages": USER}
    key = {"x-api-key": "k"}
    with running(services) as url, httpx.Client(base_url=url, timeout=60) as http:
        check(http.post(PATH, json=ask_), 401, "authentication_error")
        check(
            http.post(PATH, json=ask_, headers={"x-api-key": "wrong"}), 401, "authentication_error"
        )
        assert http.post(PATH, json=ask_, headers=key).status_code == 200
        assert http.post(PATH, json=ask_, headers={"authorization": "Bearer k"}).status_code == 200
        check(http.post(PATH, json={}, headers=key), 400, "invalid_request_error")
        check(http.post(PATH, json=ask_ | {"model": "x"}, headers=key), 404, "not_found_error")
        check(http.get(f"{PATH}/batches", headers=key), 404, "not_found_error")
        check(http.get(PATH, headers=key), 405, "invalid_request_error")
        check(http.post(PATH, json={"a": "x" * 900}, headers=key), 413, "request_too_large")
        services.engine.num_waiting = 10**6
        check(http.post(PATH, json=ask_, headers=key), 429, "rate_limit_error")
        services.engine.is_alive = False
        check(http.post(PATH, json=ask_, headers=key), 503, "overloaded_error")
        other = http.post("/v1/chat/completions", json={}, headers=key)
        assert set(other.json()["error"]) == {"message", "type", "param", "code"}
        assert "request-id" not in other.headers


def check(response: httpx.Response, status: int, kind: str) -> None:
    body = response.json()
    assert (response.status_code, body["type"]) == (status, "error")
    assert set(body["error"]) == {"type", "message"}
    assert body["error"]["type"] == kind
    assert body["request_id"] == response.headers["request-id"] == response.headers["x-request-id"]


def test_counted_tokens_are_those_of_the_prompt(url):
    fields = {"model": MODEL, "messages": USER, "tools": TOOLS, "system": "be brief"}
    counted = httpx.post(f"{url}{PATH}/count_tokens", json=fields, timeout=60)
    answered = httpx.post(f"{url}{PATH}", json=fields | {"max_tokens": 9}, timeout=60)
    assert counted.json() == {"input_tokens": answered.json()["usage"]["input_tokens"]}
    refused = httpx.post(f"{url}{PATH}/count_tokens", json=fields | {"model": "x"}, timeout=60)
    check(refused, 404, "not_found_error")
    refused = httpx.post(f"{url}{PATH}/count_tokens", json=fields | {"messages": [{}]}, timeout=60)
    check(refused, 400, "invalid_request_error")
