"""The agent of the examples, against scripted models: it ends in every case."""

from __future__ import annotations

import json
from dataclasses import replace

import openai
import pytest

from examples.agent_loop import TOOLS, AgentError, Limits, Tool, answer_call, run_agent
from tests.support.chat_server import MODEL, make_services, running


def call(name, **arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


TIMES = call("calculate", left=7, operator="*", right=6)
BY_ZERO = call("calculate", left=7, operator="/", right=0)


def run(*texts, limits=None, tools=TOOLS):
    services = make_services(*texts)
    with (
        running(services) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):
        return run_agent(client, MODEL, "What is 7 * 6?", tools, limits or Limits()), services


def test_calls_are_answered_until_the_model_answers():
    answer, services = run(TIMES, f"{TIMES}\n{call('day_of_week')}", "It is 42.")
    assert answer == "It is 42."
    assert len(services.engine.requests) == 3


def test_what_a_tool_raises_goes_back_to_the_model():
    assert run(BY_ZERO, "That has no answer.")[0] == "That has no answer."
    assert "ZeroDivisionError" in answer_call(
        TOOLS, "calculate", '{"left": 7, "operator": "/", "right": 0}'
    )
    assert "KeyError" in answer_call(TOOLS, "unknown", "{}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_repeats": 1}, "the same call was made 2 times"),
        ({"max_repeats": 100, "max_rounds": 3}, "no answer after 3 rounds"),
        ({"max_tokens": 10}, "more than 10 tokens were used"),
        ({"max_seconds": 0.0}, "it took longer than 0 seconds"),
    ],
)
def test_every_limit_ends_it(changes, message):
    with pytest.raises(AgentError, match=message):
        run(TIMES, limits=replace(Limits(), **changes))


def test_a_tool_without_arguments_is_called_with_none():
    tools = {"now": Tool(lambda: "noon", "The time.", {"type": "object", "properties": {}})}
    assert run(call("now"), "It is noon.", tools=tools)[0] == "It is noon."
