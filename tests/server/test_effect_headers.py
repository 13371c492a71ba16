"""The headers that tell which fields of a request bind its answer, and which have no effect."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from server.config import ServerConfig
from tests.support.chat_server import MODEL, make_services, running

SCHEMA: Any = {"type": "object", "properties": {"n": {"enum": [1]}}, "required": ["n"]}
USER: Any = [{"role": "user", "content": "hi"}]
CHAT: Any = {"messages": USER}
FUNCTION: Any = {"name": "f", "parameters": SCHEMA}
TOOLS: Any = [{"type": "function", "function": FUNCTION}]
FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "d", "schema": SCHEMA}}
FLAT_FORMAT: Any = {"type": "json_schema", "name": "d", "schema": SCHEMA}
MESSAGES: Any = {"messages": USER, "max_tokens": 900}
ANTHROPIC_TOOLS: Any = [{"name": "f", "input_schema": SCHEMA}]
ENFORCED = "x-tightrope-enforced"
IGNORED = "x-tightrope-ignored"


@pytest.fixture(scope="module")
def url():
    with running(make_services(None)) as url:
        yield url


def headers_of(url: str, path: str, **fields: Any) -> httpx.Headers:
    response = httpx.post(f"{url}{path}", json={"model": MODEL} | fields, timeout=60)
    assert response.status_code == 200, response.text
    return response.headers


@pytest.mark.parametrize(
    ("path", "fields", "enforced"),
    [
        ("/v1/chat/completions", CHAT, None),
        ("/v1/chat/completions", CHAT | {"response_format": {"type": "text"}}, None),
        ("/v1/chat/completions", CHAT | {"response_format": FORMAT}, "response_format"),
        (
            "/v1/chat/completions",
            CHAT | {"response_format": FORMAT, "stream": True},
            "response_format",
        ),
        (
            "/v1/chat/completions",
            CHAT | {"structured_outputs": {"regex": "a"}},
            "structured_outputs.regex",
        ),
        ("/v1/chat/completions", CHAT | {"guided_choice": ["a"]}, "guided_choice"),
        ("/v1/chat/completions", CHAT | {"tools": TOOLS}, "tools"),
        ("/v1/chat/completions", CHAT | {"tools": TOOLS, "tool_choice": "none"}, None),
        ("/v1/chat/completions", CHAT | {"functions": [FUNCTION]}, "functions"),
        (
            "/v1/chat/completions",
            CHAT | {"tools": TOOLS, "response_format": FORMAT},
            "response_format, tools",
        ),
        ("/v1/completions", {"prompt": "x", "guided_regex": "a"}, "guided_regex"),
        ("/v1/responses", {"input": "x", "text": {"format": FLAT_FORMAT}}, "text.format"),
        ("/v1/messages", MESSAGES | {"tools": ANTHROPIC_TOOLS}, "tools"),
        (
            "/v1/messages",
            MESSAGES | {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
            "output_config.format.schema",
        ),
        ("/api/chat", CHAT | {"format": SCHEMA}, "format"),
    ],
)
def test_the_fields_that_bind_the_answer_are_named(url, path, fields, enforced):
    assert headers_of(url, path, **fields).get(ENFORCED) == enforced


@pytest.mark.parametrize(
    ("path", "fields", "ignored"),
    [
        (
            "/v1/chat/completions",
            CHAT | {"tools": TOOLS, "tool_choice": "required", "response_format": FORMAT},
            "response_format",
        ),
        (
            "/v1/responses",
            {
                "input": "x",
                "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}],
                "tool_choice": {"type": "function", "name": "f"},
                "text": {"format": FLAT_FORMAT},
            },
            "text.format",
        ),
    ],
)
def test_a_format_that_forced_calls_leave_no_room_for_is_named(url, path, fields, ignored):
    headers = headers_of(url, path, **fields)
    assert (headers[ENFORCED], headers[IGNORED]) == ("tools", ignored)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/chat/completions", CHAT),
        ("/v1/completions", {"prompt": "x"}),
        ("/v1/responses", {"input": "x"}),
    ],
)
@pytest.mark.parametrize("asked", [True, False])
def test_obfuscation_that_is_never_added_is_named_where_it_is_asked_for(url, path, fields, asked):
    options = {"stream": True, "stream_options": {"include_obfuscation": asked}}
    name = headers_of(url, path, **fields, **options).get(IGNORED)
    assert name == ("stream_options.include_obfuscation" if asked else None)


@pytest.mark.parametrize("strict", [None, False, True])
def test_nothing_is_relaxed_whatever_strict_says(url, strict):
    remote = {"type": "array", "items": {"$ref": "http://x/y"}}
    named = {"name": "d", "schema": remote, "strict": strict}
    body = CHAT | {"response_format": {"type": "json_schema", "json_schema": named}}
    response = httpx.post(f"{url}/v1/chat/completions", json={"model": MODEL} | body, timeout=60)
    assert response.status_code == 400
    assert response.json()["error"]["message"] == (
        "Invalid schema for response_format 'd': /items: $ref 'http://x/y' leaves the document; "
        "put the target under $defs"
    )


def test_web_pages_may_read_them():
    services = make_services("ok", config=ServerConfig(cors_origins=("https://app.example",)))
    with running(services) as url:
        response = httpx.post(
            f"{url}/v1/chat/completions",
            json=CHAT | {"model": MODEL},
            headers={"origin": "https://app.example"},
            timeout=60,
        )
    exposed = response.headers["access-control-expose-headers"].split(", ")
    assert {ENFORCED, IGNORED, "x-tightrope-unknown"} <= set(exposed)


@pytest.mark.parametrize("names", [("",), ("a", ""), ("", "a"), (" ",), ("é\n",)])
def test_a_field_without_a_name_is_named_too(url, names):
    fields: dict[str, Any] = dict.fromkeys(names, 1)
    told = headers_of(url, "/v1/chat/completions", **CHAT | fields)["x-tightrope-unknown"]
    shown = {"": '""', " ": "%20", "é\n": "%C3%A9%0A"}
    assert told == ", ".join(shown.get(name, name) for name in names)
