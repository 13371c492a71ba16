"""An agent: the model calls tools until it answers, within limits that end it in every case.

Start the server (`make serve`), then: .venv/bin/python examples/agent_loop.py "What is 7 * 6?"

Arguments of calls are always valid under their schemas; whether a call makes sense is up to the
model. The limits are what a real agent needs: rounds, time, tokens, and a stop when it repeats
itself. What a tool raises goes back to the model as the call's answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openai import OpenAI

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Tool:
    """A function that the model may call.

    Args:
        run: takes the arguments by name, returns what JSON can hold.
        description: for the model.
        parameters: JSON Schema of the arguments; the server enforces it while the model writes.
    """

    run: Callable[..., Any]
    description: str
    parameters: dict[str, Any]

    def as_wire(self, name: str) -> Any:  # noqa: ANN401  # the SDK's own type is a union of dicts
        """The tool as the API takes it."""
        described = {"description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": {"name": name, **described}}


@dataclass(frozen=True)
class Limits:
    """What ends the loop before the model does."""

    max_rounds: int = 6
    max_seconds: float = 120.0
    max_tokens: int = 4_000
    max_repeats: int = 2


class AgentError(Exception):
    """The agent ended without an answer; the message says which limit it met."""


def run_agent(
    client: OpenAI, model: str, question: str, tools: Mapping[str, Tool], limits: Limits
) -> str:
    """Ask, run the calls that the model makes, ask again; its first answer without a call.

    Raises:
        AgentError: a limit was met first.
    """
    messages: list[Any] = [
        {"role": "system", "content": "Use the tools where they help, then answer briefly."},
        {"role": "user", "content": question},
    ]
    deadline = time.monotonic() + limits.max_seconds
    num_tokens = 0
    calls_made: list[tuple[str, str]] = []
    for _ in range(limits.max_rounds):
        completion = client.chat.completions.create(
            model=model,
            messages=messages,
            tools=[tool.as_wire(name) for name, tool in tools.items()],
            max_tokens=300,
            temperature=0,
            timeout=max(1.0, deadline - time.monotonic()),
        )
        message = completion.choices[0].message
        messages.append(message)  # the SDK's own object goes back as it is
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            assert call.type == "function"
            calls_made.append((call.function.name, call.function.arguments))
            print(f"  {call.function.name} {call.function.arguments}")
            answer = answer_call(tools, call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})
        num_tokens += completion.usage.total_tokens if completion.usage else 0
        if num_tokens > limits.max_tokens:
            raise AgentError(f"more than {limits.max_tokens} tokens were used")
        if time.monotonic() > deadline:
            raise AgentError(f"it took longer than {limits.max_seconds:g} seconds")
        if calls_made.count(calls_made[-1]) > limits.max_repeats:
            raise AgentError(f"the same call was made {limits.max_repeats + 1} times")
    raise AgentError(f"no answer after {limits.max_rounds} rounds")


def answer_call(tools: Mapping[str, Tool], name: str, arguments: str) -> str:
    """The result of a call as JSON; an error is a result too, so that the model can do better."""
    try:
        return json.dumps(tools[name].run(**json.loads(arguments)))
    except Exception as error:  # noqa: BLE001  # whatever a tool raises is for the model to read
        return json.dumps({"error": f"{type(error).__name__}: {error}"})


def calculate(left: float, operator: str, right: float) -> float:
    """A sum of two numbers."""
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _:
            return left / right


TOOLS = {
    "calculate": Tool(
        calculate,
        "Calculate with two numbers.",
        {
            "type": "object",
            "properties": {
                "left": {"type": "number"},
                "operator": {"enum": ["+", "-", "*", "/"]},
                "right": {"type": "number"},
            },
            "required": ["left", "operator", "right"],
            "additionalProperties": False,
        },
    ),
    "day_of_week": Tool(
        lambda: time.strftime("%A"),
        "The day of the week today.",
        {"type": "object", "properties": {}, "additionalProperties": False},
    ),
}


def main() -> None:
    """Answer the question on the command line."""
    client = OpenAI(
        base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
        api_key=os.environ.get("OPENAI_API_KEY", "not needed"),
    )
    question = " ".join(sys.argv[1:]) or "What is 7 * 6?"
    try:
        print(run_agent(client, client.models.list().data[0].id, question, TOOLS, Limits()))
    except AgentError as error:
        print(f"stopped: {error}")


if __name__ == "__main__":
    main()
