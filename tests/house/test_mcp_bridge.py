"""Tools of an MCP server over stdio are listed, offered to the model, called and answered."""

from __future__ import annotations

import openai
import pytest

from examples.agent_loop import Limits, run_agent
from examples.mcp_bridge import OWN_SERVER, mcp_tools
from tests.support.calls import hermes_call
from tests.support.chat_server import MODEL, make_services, running


@pytest.fixture(scope="module")
def tools():
    """Those of the example's own server, which runs in a process of its own."""
    with mcp_tools(OWN_SERVER) as tools:
        yield tools


def test_the_tools_are_those_of_the_server(tools):
    assert list(tools) == ["list_items", "take_item"]
    assert tools["take_item"].description == "Take some of an item out of the store room."
    assert tools["take_item"].parameters["required"] == ["item", "count"]


def test_the_model_calls_them_and_reads_their_answers(tools, capsys):
    services = make_services(
        hermes_call("list_items"),
        "\n".join(hermes_call("take_item", item="soap", count=count) for count in (2, 9)),
        "Two bars are taken.",
    )
    with (
        running(services) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client,
    ):
        answer = run_agent(client, MODEL, "Take soap.", tools, Limits())
    assert answer == "Two bars are taken."
    prompts = services.prompt_texts()
    assert "Take some of an item out of the store room." in prompts[0]
    assert r"\"apples\": 12" in prompts[1]
    assert "2 soap taken, 1 are left" in prompts[2]
    assert "ToolError" in prompts[2]
    assert "there are only 1 soap" in prompts[2]


def test_a_call_that_the_schema_forbids_cannot_be_written(tools):
    with (
        running(make_services(hermes_call("take_item", item="gold", count=2))) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        pytest.raises(openai.InternalServerError),
    ):
        run_agent(client, MODEL, "Take gold.", tools, Limits())
