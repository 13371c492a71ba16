"""Vercel's AI SDK over chat completions, responses and Anthropic's messages."""

from __future__ import annotations

import pytest

from tests.clients.node_clients import node_client, run_script

CLIENT = node_client("ai")
PROVIDERS = ["compatible", "responses", "anthropic"]


def check_recipe(recipe: dict[str, object]) -> None:
    assert isinstance(recipe["name"], str)
    assert isinstance(recipe["ingredients"], list)
    assert set(recipe["ingredients"]) <= {"flour", "milk", "eggs"}
    assert recipe.keys() <= {"name", "ingredients", "minutes"}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_object_is_generated(tiny, provider):
    check_recipe(run_script("vercel_ai.mjs", [tiny, provider, "generateObject"]))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_object_is_streamed(tiny, provider):
    told = run_script("vercel_ai.mjs", [tiny, provider, "streamObject"])
    assert told["parts"] > 1
    check_recipe(told["output"])


@pytest.mark.parametrize("scenario", ["generateToolSteps", "streamToolSteps"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_tools_are_called_and_their_results_sent_back(tiny, provider, scenario):
    steps = run_script("vercel_ai.mjs", [tiny, provider, scenario])
    assert [step["finishReason"] for step in steps] == ["tool-calls", "tool-calls"]
    assert all(set(step["cities"]) <= {"Paris", "Lima"} and step["cities"] for step in steps)
