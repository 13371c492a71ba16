"""Hostile requests: each gets its clean refusal or the right answer, and the server goes on."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import httpx
import pytest

from server.calls.tool import CallableTool
from server.chat.thinking import Thinking
from server.reply.message import fold
from server.reply.parser import ReplyParser
from tests.support.chat_server import MODEL, make_services, running
from tests.support.shared_data import SHARED_DATA, shared_file


def cases(*kinds: str) -> list[Any]:
    path = SHARED_DATA / "hostile" / "cases.jsonl"
    if not path.exists():
        return [pytest.param(None, id="no shared data")]
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [pytest.param(case, id=case["id"]) for case in found if case["kind"] in kinds]


def expand(case: dict[str, Any]) -> bytes:
    path = shared_file("hostile/expand.py")
    spec = importlib.util.spec_from_file_location("expand", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data: bytes = module.materialise(case)
    return data


@pytest.fixture(scope="module")
def url():
    with running(make_services(None, max_model_len=40_000)) as url:
        yield url


@pytest.mark.parametrize("case", cases("request", "raw", "tools", "chat"))
def test_a_hostile_request_is_refused_or_answered_rightly(case, url):
    if case is None:
        shared_file("hostile/cases.jsonl")
    if case["path"] != "/v1/chat/completions":
        pytest.skip("another endpoint")
    body = expand(case).replace(b'"MODEL"', json.dumps(MODEL).encode())
    given = {name.lower(): value for name, value in (case.get("headers") or {}).items()}
    headers = {"content-type": "application/json"} | given
    response = httpx.post(f"{url}{case['path']}", content=body, headers=headers, timeout=60)
    expected = case["expected"]
    if expected["verdict"] == "reject":
        assert 400 <= response.status_code < 500
    elif expected["verdict"] in ("accept", "behave"):
        assert response.status_code == 200, response.text
    else:
        assert response.status_code < 500
    if not response.is_success:
        check_refusal(response, expected)
    assert httpx.get(f"{url}/health").status_code == 200


def check_refusal(response: httpx.Response, expected: dict[str, Any]) -> None:
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert len(error["message"]) < 2000
    assert response.status_code == expected.get("status", response.status_code)
    if expected["verdict"] == "reject" and "param" in expected:
        assert error["param"].startswith(expected["param"])
        assert error["code"] == expected.get("code", error["code"])


@pytest.mark.parametrize("case", cases("parser"))
def test_a_hostile_model_text_is_parsed_the_same_in_pieces(case):
    if case is None:
        shared_file("hostile/cases.jsonl")
    text = expand(case).decode()
    tools = [CallableTool(name, {"type": "object"}) for name in case.get("tools") or []]
    size = case.get("chunk") or 7
    messages = []
    for pieces in ([text], [text[i : i + size] for i in range(0, len(text), size)]):
        parser = ReplyParser(tools=tools, thinking=Thinking.OPTIONAL)
        events = [event for piece in pieces for event in parser.feed(piece)] + parser.finish()
        message = fold(events)
        calls = [(call.name, call.arguments, call.is_complete) for call in message.calls]
        messages.append((message.content, message.reasoning, calls))
    assert messages[0] == messages[1]
    check = case["expected"]["check"]
    content, _, calls = messages[0]
    if check in ("as_content", "not_a_call", "never_evaluated", "as_content_or_error"):
        assert (content, calls) == (text, [])
    if check == "one_call_whole_argument":
        assert [json.loads(arguments) for _, arguments, _ in calls] == [{"a": "</tool_call>"}]
