"""No answer gives a caller's megabytes back: long errors lose their middle, not the way out."""

from __future__ import annotations

import json

import httpx
import pytest

from server.request_errors import InvalidValueError
from tests.support.chat_server import MODEL, make_services, running

BIG = "k" * 200_000
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
MOST_BYTES = 4_000


@pytest.fixture(scope="module")
def http():
    with (
        running(make_services(None)) as url,
        httpx.Client(base_url=url, timeout=60, verify=False) as client,
    ):
        yield client


@pytest.mark.parametrize(
    "fields",
    [
        {"guided_json": {"properties": {BIG: {"contains": 5}}}},
        {"guided_json": {"type": "object", "required": [BIG], "additionalProperties": False}},
        {"guided_json": {"$ref": f"#/{BIG}"}},
        {"guided_json": {"type": BIG}},
        {"grammar": f"root ::= {BIG}"},
        {"guided_grammar": f"start: {BIG}"},
        {"metadata": {BIG: 1}},
        {"logit_bias": {BIG: 200}},
        {"chat_template_kwargs": {BIG: 1}},
        {"tools": [{"type": "function", "function": {"name": BIG}}]},
        {BIG: float("nan")},
        {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": f"call {number}", "type": "function", "function": {"name": "f"}}
                        for number in range(5_000)
                    ],
                },
                {"role": "user", "content": "x"},
            ]
        },
    ],
    ids=lambda fields: next(iter(fields))[:20],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/api/chat"])
def test_a_refusal_is_short_whatever_it_speaks_of(fields, path, http):
    answer = http.post(
        path, content=json.dumps(BODY | fields), headers={"content-type": "application/json"}
    )
    if path == "/v1/chat/completions":
        assert answer.status_code == 400
    assert len(answer.content) < MOST_BYTES
    assert sum(len(name) + len(value) for name, value in answer.headers.items()) < MOST_BYTES


def test_the_middle_is_left_out():
    error = InvalidValueError(f"metadata.{BIG}", "at most 3; send fewer")
    assert error.message.startswith("metadata.kkk")
    assert error.message.endswith("kkk: at most 3; send fewer")
    assert " [...] " in error.message
    assert error.param is not None
    assert error.param.startswith("metadata.kkk")
    assert " [...] " in error.param
