"""Streams: rules R1 to R18 of the chunk protocol, on the wire and with OpenAI's client."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from pydantic import BaseModel

from engine.config import EngineConfig
from server.assembly import load_server
from server.config import ServerConfig
from server.engine_process.settings import EngineProcessConfig
from tests.support.chat_server import (
    CONTROLS,
    MODEL,
    THINKING_TEMPLATE,
    TOOL_TEMPLATE,
    make_services,
    running,
)
from tests.support.tiny_folder import write_tiny_folder

if TYPE_CHECKING:
    from engine.output import RequestOutput

USER: Any = [{"role": "user", "content": "hi"}]
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
TOOLS: Any = [
    {"type": "function", "function": {"name": "f", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "g"}},
]
F = '<tool_call>\n{"name": "f", "arguments": {"n": 1, "s": "天 </b> }"}}\n</tool_call>'
G = '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'
TEXTS = [
    "Hello wörld ☔",
    "",
    F,
    f"Let me see.\n{F}\n{G}",
    f"{G}\n{F}\n{G}",
    f"<think>\nhm ☔\n</think>\n\n{G}",
    "<think>\nhm\n</think>\n\nThe answer.",
]


def read_events(url: str, **fields: object) -> list[str]:
    """The data of all events, comments left out."""
    body = {"model": MODEL, "messages": USER, "stream": True} | fields
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=30) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-request-id"].startswith("req_")
        blocks = "".join(response.iter_text()).split("\n\n")
    assert blocks.pop() == ""
    assert all(block.startswith(("data: ", ": ")) for block in blocks)
    return [block.removeprefix("data: ") for block in blocks if block.startswith("data: ")]


def stream_of(
    text: str, tokens_per_step: int = 1, controls: tuple[str, ...] = CONTROLS, **fields: object
) -> list[dict[str, Any]]:
    """The chunks of one streamed answer."""
    services = make_services(
        text, template=THINKING_TEMPLATE, tokens_per_step=tokens_per_step, controls=controls
    )
    with running(services) as url:
        events = read_events(url, tools=TOOLS, **fields)
    assert events[-1] == "[DONE]"  # R11
    return [json.loads(event) for event in events[:-1]]


@pytest.mark.parametrize("controls", [CONTROLS, CONTROLS[:2]], ids=["tokens", "spelled"])
@pytest.mark.parametrize("text", TEXTS)
def test_every_stream_keeps_the_rules(text, controls):
    chunks = stream_of(text, controls=controls)
    heads = {(c["object"], c["id"], c["created"], c["model"]) for c in chunks}
    assert len(heads) == 1  # R1
    assert next(iter(heads))[0] == "chat.completion.chunk"
    choices = [chunk["choices"][0] for chunk in chunks]
    assert [c["delta"]["role"] for c in choices if "role" in c["delta"]] == ["assistant"]  # R2
    assert "role" in choices[0]["delta"]
    assert all(set(c) == {"index", "delta", "logprobs", "finish_reason"} for c in choices)  # B047
    finished = [c for c in choices if c["finish_reason"] is not None]
    assert finished == [choices[-1]]
    assert choices[-1]["delta"] == {}  # R9
    check_call_fragments([call for c in choices for call in c["delta"].get("tool_calls", [])])


def check_call_fragments(fragments: list[dict[str, Any]]) -> None:
    next_index = 0
    ids = set()
    for fragment in fragments:
        assert "function" in fragment  # R5
        if "id" in fragment:  # R3, R4, B019, B020: once, complete, and before anything else
            assert fragment["index"] == next_index  # R6
            assert fragment["type"] == "function"
            assert fragment["function"] == {
                "name": fragment["function"]["name"],
                "arguments": "",
            }
            ids.add(fragment["id"])
            next_index += 1
        else:  # R8: only the last call that was started goes on
            assert fragment == {
                "index": next_index - 1,
                "function": {"arguments": fragment["function"]["arguments"]},
            }
            assert fragment["function"]["arguments"]
    assert len(ids) == next_index


def accumulate(chunks) -> Any:
    """What the client's own accumulator makes of a stream."""
    state = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(openai.types.chat.ChatCompletionChunk.model_validate(chunk))
    return comparable(state.get_final_completion())


def comparable(completion) -> Any:
    return [
        (
            choice.index,
            choice.finish_reason,
            choice.message.content or None,
            getattr(choice.message, "reasoning_content", None),
            [(c.function.name, c.function.arguments) for c in choice.message.tool_calls or []],
        )
        for choice in completion.choices
    ]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.sampled_from(TEXTS), tokens_per_step=st.sampled_from([1, 2, 3, 5, 11, 1000]))
def test_the_client_accumulates_a_stream_to_the_answer_that_is_not_streamed(text, tokens_per_step):
    """B025: whatever the number of tokens a step."""
    streamed = accumulate(stream_of(text, tokens_per_step))
    services = make_services(text, template=THINKING_TEMPLATE)
    with running(services) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="x") as client:
        whole = client.chat.completions.create(model=MODEL, messages=USER, tools=TOOLS)
    assert streamed == comparable(whole)


def test_r7_choices_begin_in_order_and_each_ends_once():
    services = make_services("one", "two", "three")
    with running(services) as url:
        events = [json.loads(event) for event in read_events(url, n=3)[:-1]]
    assert [e["choices"][0]["index"] for e in events[:3]] == [0, 1, 2]
    assert sorted(item[2] for item in accumulate(events)) == ["one", "three", "two"]
    ends = [e["choices"][0]["index"] for e in events if e["choices"][0]["finish_reason"]]
    assert sorted(ends) == [0, 1, 2]


def test_r10_usage_comes_last_with_the_fingerprint_and_is_null_before():
    chunks = stream_of("hi", stream_options={"include_usage": True, "include_obfuscation": True})
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["system_fingerprint"] == "fp_test"
    assert chunks[-1]["usage"]["completion_tokens"] == 2
    assert "obfuscation" not in json.dumps(chunks)  # R18
    assert all("usage" not in chunk for chunk in stream_of("hi"))


def test_r12_a_silent_stream_is_kept_alive_with_comments():
    config = ServerConfig(keep_alive_s=0.05, generation_timeout_s=0.5)
    services = make_services("hello", config=config, pause_after=1)
    body = {"model": MODEL, "messages": USER, "stream": True}
    with running(services) as url:
        response = httpx.post(f"{url}/v1/chat/completions", json=body)
    assert ": keep-alive\n\n" in response.text


def test_r14_a_cut_document_raises_the_clients_length_error():
    class Document(BaseModel):
        n: int

    services = make_services('{"n": 7}')
    with running(services) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="x") as client:
        stream = client.chat.completions.stream(
            model=MODEL, messages=USER, response_format=Document, max_tokens=4
        )
        with pytest.raises(openai.LengthFinishReasonError), stream as events:
            list(events)


def test_the_clients_stream_helper_sees_calls_finish():
    services = make_services(f"{F}\n{G}")
    strict: Any = [
        {"type": "function", "function": {**tool["function"], "strict": True}} for tool in TOOLS
    ]
    with (
        running(services) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="x") as client,
        client.chat.completions.stream(model=MODEL, messages=USER, tools=strict) as events,
    ):
        done = [e for e in events if e.type == "tool_calls.function.arguments.done"]
    assert [(event.index, event.name, json.loads(event.arguments)) for event in done] == [
        (0, "f", {"n": 1, "s": "天 </b> }"}),
        (1, "g", {}),
    ]


def test_b046_text_streams_token_by_token_though_tools_are_given():
    chunks = stream_of("abc def")
    contents = [c["choices"][0]["delta"].get("content") for c in chunks]
    assert contents == ["", "a", "b", "c", " d", "e", "f", None]


def test_no_chunk_splits_a_character_and_one_step_is_one_chunk():
    contents = [
        c["choices"][0]["delta"].get("content") for c in stream_of("☔天", tokens_per_step=2)
    ]
    assert contents == ["", "☔", "天", None]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Hello wörld ☔", [["content"]]),
        (
            f"<think>\nhm ☔\n</think>\n\nYes. {G}",
            [["reasoning_content", "content", "tool_calls"], ["tool_calls"]],
        ),
        (f"{G}\n{F}\n{G}", [["tool_calls"]] * 4),
    ],
)
def test_one_step_is_one_chunk_with_all_its_tokens(text, steps):
    """But the arguments of a call come behind its start, and never in it."""
    chunks = stream_of(text, tokens_per_step=1000)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert [list(delta) for delta in deltas[1:-1]] == steps
    fragments = [[c["index"] for c in delta.get("tool_calls", [])] for delta in deltas[1:-1]]
    if text.startswith(G):
        assert fragments == [[0], [0, 1], [1, 2], [2]]


@pytest.mark.parametrize("max_draft_tokens", [0, 4])
def test_a_step_of_forced_tokens_or_drafts_is_one_chunk(max_draft_tokens, tmp_path):
    """A whole server around a real engine: as many chunks with content as steps that gave some."""
    folder = write_tiny_folder(tmp_path / "tiny", chat_template=TOOL_TEMPLATE)
    loaded = load_server(
        folder,
        EngineConfig(max_num_seqs=2, max_draft_tokens=max_draft_tokens),
        ServerConfig(served_names=(MODEL,)),
        EngineProcessConfig(engine_process=False),
        announce=lambda stage: None,
    )
    outputs: list[RequestOutput] = []
    generate = loaded.engine.generate

    async def listened(request):
        async with aclosing(generate(request)) as own:
            async for output in own:
                outputs.append(output)
                yield output

    loaded.engine.generate = listened  # type: ignore[method-assign]
    fields = {"structured_outputs": {"regex": "(forced text|[ab]{40})(cc){9}"}, "seed": 3}
    with running(loaded.services, loaded.lifespan) as url:
        events = read_events(url, max_tokens=60, **fields)
    contents = [
        choice["delta"].get("content")
        for event in events[:-1]
        for choice in json.loads(event)["choices"]
    ]
    told = [content for content in contents if content]
    assert len(told) == sum(bool(output.token_ids) for output in outputs)
    assert len(told) < sum(len(output.token_ids) for output in outputs)


def test_logprobs_of_every_token_come_with_the_text_or_before_the_end():
    chunks = stream_of("☔", logprobs=True)
    told = [
        entry["bytes"]
        for chunk in chunks
        for entry in (chunk["choices"][0]["logprobs"] or {"content": []})["content"]
    ]
    assert told == [[byte] for byte in "☔".encode()]


def test_b032_a_failure_in_the_stream_is_one_error_event_behind_which_nothing_comes():
    services = make_services("hello", fails_after=2)
    with running(services) as url:
        events = read_events(url)
        assert json.loads(events[-1]) == {
            "error": {
                "message": "The generation failed: injected",
                "type": "server_error",
                "param": None,
                "code": None,
            }
        }
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key="x") as client,
            pytest.raises(openai.APIError, match="The generation failed: injected"),
        ):
            list(client.chat.completions.create(model=MODEL, messages=USER, stream=True))
