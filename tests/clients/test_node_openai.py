"""OpenAI's client for Node."""

from __future__ import annotations

import pytest

from tests.clients.node_clients import node_client, run_script

CLIENT = node_client("openai")


@pytest.mark.parametrize("scenario", ["parse", "stream"])
def test_a_parsed_answer(tiny, scenario):
    event = run_script("openai.mjs", [tiny, scenario])
    assert event.keys() == {"name", "day"}
    assert event["day"] in ("monday", "friday")


def test_the_tool_runner_sends_results_back(tiny):
    told = run_script("openai.mjs", [tiny, "runTools"])
    assert set(told["called"]) <= {"Paris", "Lima"}
    assert told["roles"] == ["user", "assistant", "tool", "assistant", "tool"]
