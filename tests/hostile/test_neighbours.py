"""One caller's large body does not hold up the event loop that others' streams go through."""

from __future__ import annotations

import sys
from typing import Any

import httpx
import pytest

from server.body import INLINE_BYTES
from server.wire.policy import parse_chat_request
from tests.hostile.conftest import CHAT, ORDINARY
from tests.support.chat_server import MODEL, make_services, running
from tests.support.loop_work import counted_loop_work

MANY = 9_000
WORDS = [f"word-{number}" for number in range(5 * MANY)]
SAID = {"role": "user", "content": "hi"}
PART = {"type": "text", "text": "a"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS = {"role": "assistant", "tool_calls": [CALL] * MANY}
IMPOSSIBLE = {"enum": ["a"], "type": "null"}
"""A grammar is refused where the tests' engine, which is in the event loop, would follow it."""
TAGS = [{"begin": f"<{word}>", "schema": IMPOSSIBLE, "end": "<>"} for word in WORDS[:MANY]]
TAGGED = {"type": "structural_tag", "structures": TAGS, "triggers": ["<word"]}

BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "messages": (CHAT, {"messages": [SAID] * MANY}),
    "parts": (CHAT, {"messages": [SAID | {"content": [PART] * MANY}]}),
    "calls": (CHAT, {"messages": [SAID, CALLS]}),
    "unknown fields": (CHAT, {"messages": [SAID]} | dict.fromkeys(WORDS, 1)),
    "stop strings": (CHAT, {"messages": [SAID], "stop": WORDS}),
    "choices": (CHAT, {"messages": [SAID], "guided_choice": WORDS * 3}),
    "tags": (CHAT, {"messages": [SAID], "response_format": TAGGED}),
    "token ids": ("/v1/completions", {"prompt": [97] * 5 * MANY}),
    "prompts": ("/v1/completions", {"prompt": WORDS}),
    "items": ("/v1/responses", {"input": [SAID] * MANY}),
    "messages of Anthropic": ("/v1/messages", {"max_tokens": 1, "messages": [SAID] * MANY}),
    "messages that are counted": ("/v1/messages/count_tokens", {"messages": [SAID] * MANY}),
    "blocks": (
        "/v1/messages",
        {"max_tokens": 1, "messages": [SAID | {"content": [PART] * MANY}]},
    ),
    "messages of Ollama": ("/api/chat", {"messages": [SAID] * MANY}),
    "evidence": (
        "/v1/decisions",
        {
            "input": [SAID | {"type": "message"}] * MANY,
            "questions": [{"type": "predicate", "text": "a?"}],
        },
    ),
    "a text's tokens": ("/tokenize", {"prompt": "a " * MANY * 5, "return_token_strs": True}),
    "a chat's tokens": ("/tokenize", {"messages": [SAID] * MANY}),
    "tokens": ("/detokenize", {"tokens": [97] * 5 * MANY}),
}

FEW_CALLS = 20_000
"""A few milliseconds; each of the bodies takes a multiple of it."""


@pytest.fixture(scope="module")
def url():
    with running(make_services(None, max_model_len=400_000)) as url:
        yield url


@pytest.mark.parametrize("name", BODIES)
def test_a_large_body_is_not_worked_on_by_the_event_loop(name, url):
    path, body = BODIES[name]
    content = httpx.Request("POST", url, json={"model": MODEL} | body).content
    assert len(content) > INLINE_BYTES
    headers = {"content-type": "application/json"}
    with counted_loop_work() as work:
        answer = httpx.post(f"{url}{path}", content=content, headers=headers, timeout=300)
    assert answer.status_code in (200, 400), answer.text
    assert 0 < work.most_calls < FEW_CALLS


def test_the_largest_body_that_the_event_loop_reads_itself_is_little_work(url):
    body = {"model": MODEL, "messages": [SAID] * (INLINE_BYTES // 40)}
    with counted_loop_work() as work:
        answer = httpx.post(f"{url}{CHAT}", json=body, timeout=300)
    assert answer.status_code == 200, answer.text
    assert 0 < work.most_calls < 5 * FEW_CALLS


def test_others_may_run_between_the_models_of_a_body():
    """Typing is one call of Rust; wherever it calls Python, the interpreter can be taken over."""
    body = ORDINARY | {"messages": [SAID] * 1_000}
    num_calls = 0

    def count(frame: Any, event: str, _argument: Any) -> None:
        nonlocal num_calls
        num_calls += event == "call" and frame.f_code.co_name == "_let_others_run"

    sys.setprofile(count)
    try:
        parse_chat_request(body)
    finally:
        sys.setprofile(None)
    assert num_calls >= 1_000
