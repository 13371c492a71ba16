"""POST /tokenize and /detokenize: what a model reads of a text or a chat."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.chat_server import CONTROLS, MODEL, make_services, running

IM_START = 257 + CONTROLS.index("<|im_start|>")
IM_END = 257 + CONTROLS.index("<|im_end|>")
USER: Any = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def url():
    with running(make_services("ok")) as url:
        yield url


def post(url: str, path: str, **body: Any) -> Any:
    answer = httpx.post(f"{url}{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_text_is_shown_as_its_tokens(url):
    assert post(url, "/tokenize", model=MODEL, prompt="a☔") == {
        "count": 4,
        "max_model_len": 20_000,
        "tokens": list("a☔".encode()),
        "token_strs": None,
    }


def test_the_model_may_be_left_out_and_control_tokens_may_be_spelled(url):
    answer = post(url, "/tokenize", prompt="<|im_start|>a☔", return_token_strs=True)
    assert answer["tokens"][0] == IM_START
    assert answer["token_strs"] == [
        "<|im_start|>",
        "a",
        *(rf"bytes:\x{x}" for x in ("e2", "98", "94")),
    ]


def test_a_text_may_be_longer_than_the_context(url):
    assert post(url, "/tokenize", prompt="x" * 30_000)["count"] == 30_000


def test_a_chat_is_shown_as_the_prompt_that_it_would_have(url):
    answer = post(url, "/tokenize", messages=USER)
    head = [IM_START, *b"user\nhi", IM_END, *b"\n"]
    assert answer["tokens"] == [*head, IM_START, *b"assistant\n"]
    bare = post(url, "/tokenize", model=MODEL, messages=USER, add_generation_prompt=False)
    assert bare["tokens"] == head
    tool: Any = {"type": "function", "function": {"name": "f"}}
    assert post(url, "/tokenize", messages=USER, tools=[tool])["count"] > answer["count"]


def test_what_is_put_together_again_is_the_text(url):
    text = "<|im_start|>a☔<|im_end|>"
    tokens = post(url, "/tokenize", prompt=text)["tokens"]
    assert post(url, "/detokenize", model=MODEL, tokens=tokens) == {"prompt": text}
    assert post(url, "/detokenize", tokens=[]) == {"prompt": ""}


@pytest.mark.parametrize(
    ("path", "body", "ignored", "unknown"),
    [
        ("/tokenize", {"prompt": "x", "a": 1}, None, "a"),
        ("/tokenize", {"messages": USER, "a": 1, "user": "u"}, "user", "a"),
        ("/detokenize", {"tokens": [], "a": 1}, None, "a"),
        ("/api/show", {"model": MODEL, "a": 1, "verbose": True}, "verbose", "a"),
        ("/tokenize", {"prompt": "x"}, None, None),
    ],
)
def test_fields_without_effect_are_named(url, path, body, ignored, unknown):
    headers = httpx.post(f"{url}{path}", json=body).headers
    assert headers.get("x-tightrope-ignored") == ignored
    assert headers.get("x-tightrope-unknown") == unknown


@pytest.mark.parametrize(
    ("path", "body", "status", "param"),
    [
        ("/tokenize", {}, 400, "prompt"),
        ("/tokenize", {"prompt": "x", "model": "other"}, 404, "model"),
        ("/tokenize", {"messages": USER, "model": "other"}, 404, "model"),
        ("/tokenize", {"messages": []}, 400, "messages"),
        ("/tokenize", {"messages": USER, "add_special_tokens": True}, 400, "add_special_tokens"),
        ("/detokenize", {"tokens": [1, 99_999]}, 400, "tokens"),
        ("/detokenize", {"tokens": [-1]}, 400, "tokens[0]"),
        ("/detokenize", {"tokens": "x"}, 400, "tokens"),
        ("/detokenize", {"tokens": [], "model": "other"}, 404, "model"),
    ],
)
def test_refusals_name_the_field(url, path, body, status, param):
    answer = httpx.post(f"{url}{path}", json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param)
