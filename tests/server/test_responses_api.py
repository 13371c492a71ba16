"""The Responses API with openai's own client over a real socket."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest
from openai.types.responses import Response
from pydantic import BaseModel

from server.config import ServerConfig
from tests.support.chat_server import (
    MODEL,
    OPEN_THINKING_TEMPLATE,
    THINKING_TEMPLATE,
    ScriptedServices,
    make_services,
    running,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA: Any = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
TOOLS: Any = [
    {"type": "function", "name": "f", "parameters": SCHEMA, "strict": True},
    {"type": "function", "name": "g", "parameters": None, "strict": None},
    {"type": "custom", "name": "c"},
]
F = '<tool_call>\n{"name": "f", "arguments": {"n": 1}}\n</tool_call>'
C = '<tool_call>\n{"name": "c", "arguments": {"input": "a \\"b\\""}}\n</tool_call>'


class Document(BaseModel):
    n: int


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
    services = services or make_services(*texts)
    with client_of(services) as client:
        answer: Any = client.responses.create(**({"model": MODEL, "input": "hi"} | fields))
        return list(answer) if fields.get("stream") else answer


def events_of(*texts: str | None, **fields: Any) -> Any:
    return ask(*texts, stream=True, **fields)


def prompt_of(services: ScriptedServices) -> str:
    """The prompt that the engine was given, controls left out."""
    data = b"".join(
        services.vocabulary.token_bytes.get(token_id, b"|")
        for token_id in services.engine.requests[-1].prompt_token_ids
    )
    return data.decode()


def test_a_text_answer_has_every_field_of_a_response():
    answer = ask(
        "Hello wörld ☔", metadata={"a": "b"}, instructions="Be kind.", max_output_tokens=99
    )
    Response.model_validate(answer.model_dump(), strict=True)
    assert answer.id.startswith("resp_")
    assert (answer.object, answer.status, answer.model) == ("response", "completed", MODEL)
    assert answer.output_text == "Hello wörld ☔"
    assert (answer.metadata, answer.instructions) == ({"a": "b"}, "Be kind.")
    assert (answer.error, answer.incomplete_details) == (None, None)
    assert answer.max_output_tokens == 99
    assert answer.usage.output_tokens == len("Hello wörld ☔".encode())
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens


def test_instructions_and_items_reach_the_template_in_order():
    services = make_services("ok")
    ask(
        services=services,
        instructions="Be kind.",
        input=[
            {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "role": "assistant", "content": "b"},
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"n": 1}'},
            {"type": "function_call", "call_id": "2", "name": "f", "arguments": '{"n": 2}'},
            {"type": "function_call_output", "call_id": "2", "output": "two"},
            {"type": "function_call_output", "call_id": "1", "output": "one"},
            {"role": "developer", "content": "d"},
        ],
    )
    turns = [turn.partition("\n") for turn in prompt_of(services).split("|\n|")]
    assert [role.strip("|") for role, _, _ in turns] == [
        *("system", "user", "assistant", "tool", "tool", "system", "assistant")
    ]
    assert [text for _, _, text in turns][:2] == ["Be kind.", "a"]
    assert turns[2][2].startswith("b|")
    assert [text for _, _, text in turns][3:6] == ["two", "one", "d"]


def test_calls_are_items_with_ids_of_their_own():
    answer = ask(f"{F}\n{C}", tools=TOOLS)
    call, custom = answer.output
    assert (call.type, call.name, call.arguments) == ("function_call", "f", '{"n": 1}')
    assert (custom.type, custom.name, custom.input) == ("custom_tool_call", "c", 'a "b"')
    assert call.status == "completed"
    assert call.call_id != custom.call_id
    assert call.id != call.call_id
    assert answer.output_text == ""


def test_thoughts_are_an_item_in_front_of_the_text():
    services = make_services("Hm.\n</think>\n\nYes.", template=OPEN_THINKING_TEMPLATE)
    answer = ask(services=services)
    thoughts, message = answer.output
    assert [part.text for part in thoughts.content] == ["Hm."]
    assert message.content[0].text == "Yes."
    assert 0 < answer.usage.output_tokens_details.reasoning_tokens < answer.usage.output_tokens


def test_effort_none_turns_thinking_off():
    services = make_services("ok", template=THINKING_TEMPLATE)
    ask(services=services, reasoning={"effort": "none"})
    assert prompt_of(services).endswith("|\n\n|\n\n")  # an empty block of thoughts


def test_a_limit_is_told_as_incomplete():
    answer = ask("abcdef", max_output_tokens=3)
    assert (answer.status, answer.output_text) == ("incomplete", "abc")
    assert answer.incomplete_details.reason == "max_output_tokens"
    assert answer.output[0].status == "incomplete"


def test_an_empty_answer_is_an_empty_message():
    services = make_services("<|im_start|>")  # a control token that no reader names
    assert [item.type for item in ask(services=services).output] == ["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_parse_and_its_stream_give_the_document(stream):
    services = make_services('{"n": 7}')
    with client_of(services) as client:
        if stream:
            with client.responses.stream(model=MODEL, input="hi", text_format=Document) as events:
                answer = events.get_final_response()
        else:
            answer = client.responses.parse(model=MODEL, input="hi", text_format=Document)
    assert answer.output_parsed == Document(n=7)
    assert services.engine.requests[0].constraint is not None


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ({"type": "function", "name": "f"}, "f"),
        ({"type": "custom", "name": "c"}, "c"),
        ("required", None),
        ({"type": "allowed_tools", "mode": "required", "tools": [TOOLS[1]]}, "g"),
    ],
)
def test_a_tool_choice_binds_even_beside_a_format(choice, written):
    """Instructor sends a format and a forced call at once: the call wins."""
    if isinstance(choice, dict) and "tools" in choice:
        choice |= {"tools": [{"type": "function", "name": "g"}]}
    text_format = {"format": {"type": "json_schema", "name": "d", "schema": SCHEMA}}
    answer = ask(None, tools=TOOLS, tool_choice=choice, text=text_format, max_output_tokens=300)
    assert answer.status == "completed"
    (call, *_) = answer.output
    assert call.type in ("function_call", "custom_tool_call")
    assert written in (None, call.name)


def test_events_come_in_order_and_are_numbered():
    events = events_of(f"Look.\n{F}\n{C}", tools=TOOLS)
    kinds = [event.type.removeprefix("response.") for event in events]
    merged = [kind for index, kind in enumerate(kinds) if kind not in kinds[index - 1 : index]]
    assert merged == [
        *("created", "in_progress"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.done"),
        *("content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done"),
        "output_item.done",
        *("output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done"),
        *("output_item.done", "completed"),
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Hello ☔", {}),
        ("abcdef", {"max_output_tokens": 3}),
        (f"Look.\n{F}\n{C}", {"tools": TOOLS}),
        (F, {"tools": TOOLS, "max_output_tokens": 40}),  # cut inside the arguments
        ("", {}),
    ],
)
def test_the_items_that_are_told_one_by_one_are_those_of_the_end(text, fields):
    events = events_of(text or "<|im_start|>", **fields)
    final = events[-1].response
    assert events[-1].type == f"response.{final.status}"
    done = [event.item for event in events if event.type == "response.output_item.done"]
    added = [event.item for event in events if event.type == "response.output_item.added"]
    assert [item.to_dict() for item in done] == [item.to_dict() for item in final.output]
    assert [item.id for item in added] == [item.id for item in final.output]
    assert {item.status for item in added} == {"in_progress"}
    for index, item in enumerate(final.output):
        whole = getattr(item, "arguments", None) or getattr(item, "input", None)
        whole = whole or (item.content[0].text if item.type == "message" else "")
        deltas = [e.delta for e in events if "delta" in e.type and e.output_index == index]
        assert "".join(deltas) == whole


def test_the_stream_is_the_whole_answer_but_for_ids():
    def bare(answer: Any) -> Any:
        body = answer.to_dict() | {"id": "", "created_at": 0, "completed_at": 0}
        for item in body["output"]:
            item |= {"id": ""} | ({"call_id": ""} if "call_id" in item else {})
        return body

    text = f"Look ☔.\n{F}\n{C}"
    assert bare(ask(text, tools=TOOLS)) == bare(events_of(text, tools=TOOLS)[-1].response)


def test_a_failure_under_way_is_an_event():
    events = events_of(services=make_services("abcdef", fails_after=2))
    assert events[-1].type == "response.failed"
    assert events[-1].response.status == "failed"
    assert events[-1].response.error.code == "server_error"
    assert "injected" in events[-1].response.error.message


def test_logprobs_come_with_the_text_where_they_are_included():
    fields: Any = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
    content = ask("ab", **fields).output[0].content[0]
    assert [entry.token for entry in content.logprobs] == ["a", "b"]
    assert len(content.logprobs[0].top_logprobs) == 2
    events = events_of("ab", **fields)
    told = [
        e for event in events if event.type == "response.output_text.delta" for e in event.logprobs
    ]
    assert [entry.token for entry in told] == ["a", "b"]


def test_a_response_goes_on_from_a_stored_one():
    services = make_services(F, "one", "two")
    with client_of(services) as client:
        first = client.responses.create(
            model=MODEL, input="call f", tools=TOOLS, instructions="Only once."
        )
        second = client.responses.create(
            model=MODEL,
            previous_response_id=first.id,
            input=[
                {
                    "type": "function_call_output",
                    "call_id": first.output[0].call_id,
                    "output": "seven",
                }
            ],
        )
        third = client.responses.create(
            model=MODEL, previous_response_id=second.id, input="again", stream=True
        )
        last = list(third)[-1].response
        prompt = prompt_of(services)
        assert [prompt.find(text) for text in ("call f", '"f"', "seven", "one", "again")] == sorted(
            prompt.find(text) for text in ("call f", '"f"', "seven", "one", "again")
        )
        assert -1 not in [prompt.find(text) for text in ("call f", '"f"', "seven", "one", "again")]
        assert "Only once." not in prompt
        assert client.responses.retrieve(second.id).to_dict() == second.to_dict()
        assert client.responses.retrieve(last.id).output_text == "two"
        client.responses.delete(second.id)
        with pytest.raises(openai.NotFoundError, match="No response"):
            client.responses.retrieve(second.id)
        assert client.responses.create(
            model=MODEL, previous_response_id=last.id, input="and"
        ).output_text  # needs none of those before


def test_a_response_may_go_on_from_a_stored_one_without_input():
    services = make_services("one", "two")
    with client_of(services) as client:
        first = client.responses.create(model=MODEL, input="hi")
        again = client.responses.create(model=MODEL, previous_response_id=first.id)
        assert again.output_text == "two"
        with pytest.raises(openai.BadRequestError, match="input: this field is required"):
            client.responses.create(model=MODEL, instructions="be brief")
    shown = bytes(token for token in services.engine.requests[1].prompt_token_ids if token < 256)
    assert shown.endswith(b"assistant\none\nassistant\n")


def test_an_item_is_named_by_a_reference():
    """Vercel's provider sends references to what it believes is stored."""
    services = make_services(F, "done")
    with client_of(services) as client:
        (call,) = client.responses.create(model=MODEL, input="go", tools=TOOLS).output
        answer = client.responses.create(
            model=MODEL,
            input=[
                {"role": "user", "content": "go"},
                {"type": "item_reference", "id": call.id},
                {"type": "function_call_output", "call_id": call.call_id, "output": "x"},
            ],
        )
    assert answer.output_text == "done"
    assert '{"n": 1}' in prompt_of(services)


def test_callers_see_their_own_responses_alone_and_only_where_they_are_stored():
    with running(make_services("ok")) as url:
        mine: Any = openai.OpenAI(base_url=f"{url}/v1", api_key="mine", max_retries=0)
        other: Any = openai.OpenAI(base_url=f"{url}/v1", api_key="other", max_retries=0)
        kept = mine.responses.create(model=MODEL, input="hi")
        dropped = mine.responses.create(model=MODEL, input="hi", store=False)
        assert mine.responses.retrieve(kept.id).id == kept.id
        for client, response_id in [(mine, dropped.id), (other, kept.id)]:
            with pytest.raises(openai.NotFoundError):
                client.responses.retrieve(response_id)
            with pytest.raises(openai.BadRequestError) as caught:
                client.responses.create(model=MODEL, input="x", previous_response_id=response_id)
            assert caught.value.code == "previous_response_not_found"
        mine.close()
        other.close()


def test_the_store_is_bounded_in_bytes_and_the_oldest_go_first():
    services = make_services("ok", config=ServerConfig(response_store_bytes=10_000))
    with client_of(services) as client:
        first, *_, last = (client.responses.create(model=MODEL, input="x" * 1000) for _ in range(5))
        assert client.responses.retrieve(last.id).id == last.id
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(first.id)


def test_what_has_no_effect_is_named():
    fields = {
        "input": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "of another"},
            {"role": "user", "content": "hi"},
        ],
        "user": "u",
        "truncation": "auto",
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "made_up": 1,
        "background": False,
    }
    with running(make_services("ok")) as url:
        answer = httpx.post(f"{url}/v1/responses", json={"model": MODEL} | fields)
    assert answer.status_code == 200
    ignored = answer.headers["x-tightrope-ignored"].split(", ")
    assert ignored == [
        *("user", "truncation", "reasoning.summary", "include[0]", "input[0].encrypted_content"),
        "reasoning.effort",
    ]
    assert answer.headers["x-tightrope-unknown"] == "made_up"


def test_the_stream_names_its_events_on_a_line_of_their_own():
    with running(make_services("ok")) as url:
        answer = httpx.post(
            f"{url}/v1/responses", json={"model": MODEL, "input": "hi", "stream": True}
        )
    blocks = answer.text.strip().split("\n\n")
    for block in blocks:
        event, data = block.split("\n")
        assert event == f"event: {json.loads(data.removeprefix('data: '))['type']}"
