"""The agents of the examples, over both SDKs, against scripted models: they end in every case."""

from __future__ import annotations

from dataclasses import replace

import anthropic
import openai
import pytest

from examples import agent_loop, anthropic_loop
from examples.agent_loop import TOOLS, AgentError, Limits, Tool, answer_call
from tests.support.calls import hermes_call
from tests.support.chat_server import MODEL, make_services, running

TIMES = hermes_call("calculate", left=7, operator="*", right=6)
BY_ZERO = hermes_call("calculate", left=7, operator="/", right=0)


def run_openai(url, *arguments):
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        return agent_loop.run_agent(client, *arguments)


def run_anthropic(url, *arguments):
    with anthropic.Anthropic(base_url=url, api_key="none") as client:
        return anthropic_loop.run_agent(client, *arguments)


@pytest.fixture(params=[run_openai, run_anthropic], ids=["openai", "anthropic"])
def run(request):
    """Runs an agent against a model that writes these texts; gives its answer and the services."""

    def run_agent(*texts, limits=None, tools=TOOLS, **engine_options):
        services = make_services(*texts, **engine_options)
        with running(services) as url:
            answer = request.param(url, MODEL, "What is 7 * 6?", tools, limits or Limits())
        return answer, services

    return run_agent


def test_calls_are_answered_until_the_model_answers(run):
    answer, services = run(TIMES, f"{TIMES}\n{hermes_call('day_of_week')}", "It is 42.")
    assert answer == "It is 42."
    assert len(services.engine.requests) == 3
    assert "\n42" in services.prompt_texts()[1]


def test_what_a_tool_raises_goes_back_to_the_model(run):
    answer, services = run(BY_ZERO, "That has no answer.")
    assert answer == "That has no answer."
    assert "ZeroDivisionError" in services.prompt_texts()[1]


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("calculate", '{"left": 7, "operator": "*", "right": 6}', ("42", False)),
        ("unknown", "{}", ('{"error": "KeyError: \'unknown\'"}', True)),
        ("day_of_week", '{"day": 1', None),
    ],
)
def test_every_call_has_an_answer(name, arguments, answer):
    found, is_error = answer_call(TOOLS, name, arguments)
    assert is_error == ("error" in found)
    assert answer in (None, (found, is_error))


@pytest.mark.parametrize(
    ("changes", "message", "num_requests"),
    [
        ({"max_repeats": 1}, "calculate was called 2 times with the same arguments", 2),
        ({"max_repeats": 100, "max_rounds": 3}, "no answer after 3 rounds", 3),
        ({"max_tokens": 200}, "200 tokens were used", 1),
        ({"max_seconds": 0.0}, "it took longer than 0 seconds", 0),
    ],
)
def test_every_limit_ends_it(run, changes, message, num_requests, capsys):
    with pytest.raises(AgentError, match=message):
        run(TIMES, limits=replace(Limits(), **changes))
    rounds_with_calls = capsys.readouterr().out.count("  calculate {")
    assert rounds_with_calls == min(num_requests, changes.get("max_repeats", num_requests))


def test_a_repeat_is_seen_among_parallel_calls(run):
    with pytest.raises(AgentError, match="calculate was called 2 times"):
        run(f"{TIMES}\n{TIMES}\n{hermes_call('day_of_week')}", limits=Limits(max_repeats=1))


def test_a_request_that_hangs_ends_with_the_time(run):
    with pytest.raises(AgentError, match=r"it took longer than 0\.5 seconds"):
        run("It is 42.", limits=Limits(max_seconds=0.5), pause_after=0)


def test_a_tool_without_arguments_is_called_with_none(run):
    tools = {"now": Tool(lambda: "noon", "The time.", {"type": "object", "properties": {}})}
    assert run(hermes_call("now"), "It is noon.", tools=tools)[0] == "It is noon."
