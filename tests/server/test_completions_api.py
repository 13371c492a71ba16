"""POST /v1/completions with openai's own client over a real socket."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest
from openai.types import Completion

from server.config import ServerConfig
from tests.support.chat_server import CONTROLS, MODEL, make_services, running
from tests.support.tiny_server import tiny_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.chat_server import ScriptedServices

NAMED = {"name": "d", "schema": {"type": "null"}}
IM_START = 257 + CONTROLS.index("<|im_start|>")


@contextmanager
def client_of(services: ScriptedServices) -> Iterator[Any]:
    """OpenAI's client of a running server."""
    with (
        running(services) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client


def ask(*texts: str | None, services: ScriptedServices | None = None, **fields: Any) -> Any:
    """One request to a server whose model writes the texts."""
    with client_of(services or make_services(*texts)) as client:
        answer = client.completions.create(**({"model": MODEL, "prompt": "hi"} | fields))
        return list(answer) if fields.get("stream") else answer


def test_a_completion_has_every_required_field():
    services = make_services("wörld ☔ and so on")
    answer = ask(services=services, max_tokens=9)
    Completion.model_validate(answer.model_dump(), strict=True)
    assert answer.id.startswith("cmpl-")
    assert (answer.object, answer.model) == ("text_completion", MODEL)
    (choice,) = answer.choices
    assert (choice.text, choice.finish_reason, choice.logprobs) == (
        "wörld ☔"[:6] + "�",
        "length",
        None,
    )
    assert answer.usage.prompt_tokens == 2
    assert answer.usage.completion_tokens == 9
    assert services.engine.requests[0].prompt_token_ids == tuple(b"hi")


def test_sixteen_tokens_are_the_default():
    assert ask("x" * 40).choices[0].text == "x" * 16


def test_a_prompt_stands_in_the_templates_place_so_it_may_spell_control_tokens():
    services = make_services("ok")
    ask(services=services, prompt="<|im_start|>user")
    assert services.engine.requests[0].prompt_token_ids == (IM_START, *b"user")


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        ("ab", [b"ab"]),
        (["ab", "c"], [b"ab", b"c"]),
        ([97, 98], [b"ab"]),
        ([[97], [98, 99]], [b"a", b"bc"]),
    ],
)
def test_prompts_are_texts_or_token_ids_one_or_many(prompt, prompts):
    services = make_services("1", "2")
    answer = ask(services=services, prompt=prompt)
    given = sorted(bytes(request.prompt_token_ids) for request in services.engine.requests)
    assert given == sorted(prompts)
    assert [choice.index for choice in answer.choices] == list(range(len(prompts)))
    assert answer.usage.prompt_tokens == sum(map(len, prompts))


@pytest.mark.parametrize("stream", [False, True])
def test_choices_are_numbered_prompt_by_prompt(stream):
    services = make_services(None)
    fields: Any = {"extra_body": {"guided_choice": ["xyz"]}}
    answer = ask(services=services, prompt=["a", "b"], n=2, echo=True, stream=stream, **fields)
    texts = ["", "", "", ""]
    chunks = answer if stream else [answer]
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == ["axyz", "axyz", "bxyz", "bxyz"]


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        ({"guided_regex": "[ab]{3}"}, ("aaa",)),
        ({"structured_outputs": {"choice": ["x", "y"]}}, ("x", "y")),
        ({"guided_json": {"enum": [1, "b"]}}, ("1", '"b"')),
        ({"response_format": {"type": "json_schema", "json_schema": NAMED}}, ("null",)),
        ({"grammar": 'root ::= "q" | "r"'}, ("q", "r")),
    ],
)
def test_texts_are_bound_by_every_name_of_a_constraint(fields, written):
    choice = ask(None, extra_body=fields).choices[0]
    assert choice.text in written
    assert choice.finish_reason == "stop"


@pytest.mark.parametrize("stream", [False, True])
def test_stop_strings_end_free_text(stream):
    answer = ask("one two three", stop=["two"], stream=stream)
    chunks = answer if stream else [answer]
    assert "".join(chunk.choices[0].text for chunk in chunks) == "one "
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_stop_strings_do_not_cut_documents():
    with running(make_services(None)) as url:
        body = {"model": MODEL, "prompt": "x", "stop": "a", "guided_regex": "aaa"}
        answer = httpx.post(f"{url}/v1/completions", json=body)
    assert answer.json()["choices"][0]["text"] == "aaa"
    assert answer.headers["x-tightrope-ignored"] == "stop"


@pytest.mark.parametrize("stream", [False, True])
def test_logprobs_are_four_lists_side_by_side(stream):
    answer = ask("a☔b", logprobs=2, stream=stream)
    told: dict[str, list[Any]] = {}
    for chunk in answer if stream else [answer]:
        if chunk.choices[0].logprobs is not None:
            for name, values in chunk.choices[0].logprobs.to_dict().items():
                told.setdefault(name, []).extend(values)
    assert told["tokens"] == ["a", r"bytes:\xe2", r"bytes:\x98", r"bytes:\x94", "b"]
    assert told["token_logprobs"] == [-0.5] * 5
    assert told["text_offset"] == [0, 1, 1, 1, 2]
    assert told["top_logprobs"][0] == {"\x00": -1.0, "\x01": -2.0, "a": -0.5}


def test_the_stream_ends_with_usage_where_asked_and_with_done():
    with running(make_services("ab")) as url:
        body = {"model": MODEL, "prompt": "x", "stream": True}
        body |= {"stream_options": {"include_usage": True}}
        text = httpx.post(f"{url}/v1/completions", json=body).text
    chunks = [block.removeprefix("data: ") for block in text.strip().split("\n\n")]
    assert chunks[-1] == "[DONE]"
    usage = Completion.model_validate_json(chunks[-2])
    assert usage.choices == []
    assert usage.usage is not None
    assert usage.usage.completion_tokens == 2
    assert '"usage":null' in chunks[0]


def test_a_failure_under_way_is_told_and_the_other_texts_are_aborted():
    services = make_services("abcdef", fails_after=3)
    with pytest.raises(openai.APIError, match="injected"):
        ask(services=services, prompt=["a", "b"], stream=True)
    assert len(services.engine.requests) == 2


@pytest.mark.parametrize(
    ("fields", "status", "param", "message"),
    [
        ({"suffix": "x"}, 400, "suffix", "only go on"),
        ({"best_of": 2}, 400, "best_of", "only the value of n"),
        ({"prompt": []}, 400, "prompt", "at least 1 is needed"),
        ({"prompt": [[]]}, 400, "prompt", "the prompt is empty"),
        ({"prompt": ""}, 400, "prompt", "the prompt is empty"),
        ({"prompt": ["a"] * 5}, 400, "prompt", "at most max_completions=4"),
        ({"prompt": ["a"] * 3, "n": 2}, 400, "prompt", "ask for 6"),
        ({"prompt": [99_999]}, 400, "prompt", "99999"),
        ({"prompt": [True]}, 400, "prompt[0]", "valid"),
        ({"prompt": "x" * 30_000}, 400, "prompt", "maximum context length"),
        ({"max_tokens": 0}, 400, "max_tokens", "echo"),
        ({"logprobs": 21}, 400, "logprobs", "less than or equal to 20"),
        ({"messages": [{}]}, 400, "messages", "/v1/chat/completions"),
        ({"guided_regex": "("}, 400, "guided_regex", "Invalid pattern"),
        ({"model": "other"}, 404, "model", "not served"),
    ],
)
def test_refusals_name_the_field(fields, status, param, message):
    with running(make_services("ok", config=ServerConfig(max_completions=4))) as url:
        body = {"model": MODEL, "prompt": "x"} | fields
        answer = httpx.post(f"{url}/v1/completions", json=body)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["param"] == param
    assert message in error["message"]


def test_best_of_n_is_n():
    assert len(ask("x", n=2, best_of=2).choices) == 2


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    config = ServerConfig(served_names=("tiny",))
    with (
        tiny_server(tmp_path_factory.mktemp("tiny"), config) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client


def test_an_echoed_prompt_is_scored_as_its_tokens_are_when_they_are_written(tiny):
    """What evaluation harnesses do: log probabilities of a text that is given."""
    fields: Any = {"model": "tiny", "temperature": 0}
    fields |= {"extra_body": {"logprobs_of": "model", "ignore_eos": True}}
    written = tiny.completions.create(prompt="Once", max_tokens=6, logprobs=0, **fields)
    tokens = written.choices[0].logprobs
    ids = tiny.post("/../tokenize", body={"model": "tiny", "prompt": "Once"}, cast_to=object)
    assert ids["count"] == len(ids["tokens"])
    echoed = tiny.completions.create(
        prompt="Once" + written.choices[0].text, max_tokens=0, echo=True, logprobs=2, **fields
    )
    (choice,) = echoed.choices
    assert choice.text == "Once" + written.choices[0].text
    assert choice.finish_reason == "length"
    assert echoed.usage.completion_tokens == 0
    assert choice.logprobs.token_logprobs[0] is None
    assert len(choice.logprobs.tokens) == echoed.usage.prompt_tokens
    if choice.logprobs.tokens[ids["count"] :] == tokens.tokens:  # canonical as the model wrote it
        got = choice.logprobs.token_logprobs[ids["count"] :]
        assert got == pytest.approx(tokens.token_logprobs, abs=1e-4)
    assert all(len(top) in (2, 3) for top in choice.logprobs.top_logprobs[1:])
