"""OpenAI's client, all its endpoints that are served here, against a tiny random model."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import openai
import pytest
from openai.lib.decisions_tool_runner import DecisionsToolRunner
from pydantic import BaseModel, Field

from server.config import ServerConfig
from tests.support.tiny_server import tiny_server

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ticket(BaseModel):
    title: str = Field(pattern="^[a-z]{1,8}$")
    kind: Literal["bug", "wish"]
    votes: int = Field(ge=0, le=99)


PING: Any = {
    "type": "function",
    "name": "ping",
    "parameters": {
        "type": "object",
        "properties": {"host": {"enum": ["a", "b"]}, "count": {"enum": [1, 2]}},
        "required": ["host", "count"],
        "additionalProperties": False,
    },
    "strict": True,
}
SHELL: Any = {
    "type": "custom",
    "name": "shell",
    "format": {"type": "grammar", "syntax": "regex", "definition": "ls( -[la]{1,2})?"},
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    config = ServerConfig(served_names=("tiny",), model_alias=("gpt-*=tiny",))
    with (
        tiny_server(tmp_path_factory.mktemp("tiny"), config) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client


@pytest.mark.parametrize("seed", [1, 2])
def test_even_noise_is_a_document(client, seed):
    fields: Any = {"model": "gpt-4o", "input": "a ticket", "extra_body": {"seed": seed}}
    parsed = client.responses.parse(text_format=Ticket, **fields)
    assert isinstance(parsed.output_parsed, Ticket)
    with client.responses.stream(text_format=Ticket, **fields) as stream:
        streamed = stream.get_final_response()
    assert streamed.output_parsed == parsed.output_parsed


def test_an_agent_loop_over_stored_responses(client):
    tools = [PING, SHELL]
    answer = client.responses.create(model="tiny", input="go", tools=tools, tool_choice="required")
    for _ in range(2):
        outputs = []
        for call in answer.output:
            if call.type == "function_call":
                assert json.loads(call.arguments).keys() == {"host", "count"}
                kind = "function_call_output"
            else:
                assert call.input.split()[0] == "ls"
                kind = "custom_tool_call_output"
            outputs.append({"type": kind, "call_id": call.call_id, "output": "done"})
        answer = client.responses.create(
            model="tiny",
            previous_response_id=answer.id,
            input=outputs,
            tools=tools,
            tool_choice={"type": "custom", "name": "shell"},
        )
        assert [item.type for item in answer.output] == ["custom_tool_call"]


def test_an_agent_loop_that_sends_its_items_back(client):
    items: list[Any] = [{"role": "user", "content": "go"}]
    for _ in range(2):
        answer = client.responses.create(
            model="tiny", input=items, tools=[PING], tool_choice="required", store=False,
            parallel_tool_calls=False,
        )  # fmt: skip
        (call,) = answer.output
        items += answer.output
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": "ok"})


def test_completions_are_bound_and_numbered(client):
    answer = client.completions.create(
        model="tiny", prompt=["one", "two"], n=2, extra_body={"guided_regex": "[ab]{2}c"}
    )
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert all(len(choice.text) == 3 and choice.text[2] == "c" for choice in answer.choices)


def test_the_tool_runner_of_decisions_takes_the_answers(client):
    done: list[str] = []

    def candidates(_observation: Any) -> Any:
        actions = [
            {"id": name, "description": f"do {name}", "execute": partial(done.append, name)}
            for name in ("a", "b")
            if name not in done
        ]
        return [{"id": "end", "description": "finish", "done": True}, *actions]

    runner = DecisionsToolRunner(observe=lambda: f"done so far: {done}", candidates=candidates)
    result = runner.run(client, {"model": "tiny", "input": "do what is useful"}, max_steps=5)
    assert result["status"] == "unverified"
    assert result["completed_candidate_ids"] == done
    for decision in result["decisions"]:
        (answer,) = decision.answers
        assert answer.type == "choice"
        assert sum(entry.probability for entry in answer.probabilities) == pytest.approx(1)
