"""Qwen-Agent, with tools in its own prompt and in the request."""

from __future__ import annotations

from typing import Any

from qwen_agent.agents import Assistant
from qwen_agent.tools.base import BaseTool

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("qwen-agent")


PARAMETERS: Any = [{"name": "city", "type": "string", "description": "The city", "required": True}]


CITY: Any = {
    "type": "object",
    "properties": {"city": {"type": "string", "pattern": "^[A-Z][a-z]{2,9}$"}},
    "required": ["city"],
    "additionalProperties": False,
}
CALL_TAG: Any = {
    "type": "structural_tag",
    "format": {
        "type": "tag",
        "begin": '<tool_call>\n{"name": "get_weather", "arguments": ',
        "content": {"type": "json_schema", "json_schema": CITY},
        "end": "}\n</tool_call>",
    },
}


class GetWeather(BaseTool):
    """A tool as Qwen-Agent's guide declares it: parameters in a list."""

    name = "get_weather"
    description = "Get the weather in a city."
    parameters = PARAMETERS

    def call(self, params: Any, **_: Any) -> str:
        return f"18 degrees in {self._verify_json_format_args(params)['city']}"


def turns(url: str, **settings: Any) -> list[Any]:
    """What the assistant adds to a conversation, the last state of its stream."""
    llm = {
        "model": MODEL,
        "model_server": f"{url}/v1",
        "api_key": "EMPTY",
        "generate_cfg": {"max_tokens": 200, **settings},
    }
    assistant = Assistant(llm=llm, function_list=[GetWeather()])
    *_, last = assistant.run(messages=EARLIER)
    return list(last)


EARLIER: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the weather in Paris?"},
    {
        "role": "assistant",
        "content": "",
        "function_call": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
    },
    {"role": "function", "name": "get_weather", "content": "18 degrees in Paris"},
    {"role": "assistant", "content": "It is 18 degrees in Paris."},
    {"role": "user", "content": "And in Lima?"},
]


def test_tools_in_the_assistants_own_prompt(tiny):
    (answer,) = turns(tiny)
    assert answer["role"] == "assistant"
    assert answer["content"]


def test_calls_of_the_assistants_own_prompt_keep_to_a_structural_tag(tiny, monkeypatch):
    """Its tools are text to the server, so the caller says what stands between its tags."""
    monkeypatch.setattr("qwen_agent.agents.fncall_agent.MAX_LLM_CALL_PER_RUN", 2)
    extra = {"structured_outputs": {"structural_tag": CALL_TAG}}
    answers = turns(tiny, extra_body=extra, max_tokens=2000)
    assert [answer["role"] for answer in answers] == ["assistant", "function"] * 2
    for called, result in zip(answers[::2], answers[1::2], strict=True):
        assert called["function_call"]["name"] == "get_weather"
        assert result["content"].startswith("18 degrees in ")


def test_tools_are_called_over_the_raw_api_and_their_results_sent_back(tiny, monkeypatch):
    monkeypatch.setattr("qwen_agent.agents.fncall_agent.MAX_LLM_CALL_PER_RUN", 2)
    answers = turns(
        tiny, use_raw_api=True, tool_choice="required", parallel_tool_calls=False, max_tokens=2000
    )
    assert [answer["role"] for answer in answers] == ["assistant", "function"] * 2
    for called, result in zip(answers[::2], answers[1::2], strict=True):
        assert called["function_call"]["name"] == "get_weather"
        assert result["content"].startswith("18 degrees in ")
