"""An agent: the model calls tools until it answers, within limits that end it in every case.

Start the server (`make serve`), then: .venv/bin/python -m examples.agent_loop "What is 7 * 6?"

Arguments of calls are always valid under their schemas; whether a call makes sense is up to the
model. The limits are what a real agent needs: rounds, time, tokens, and a stop when it repeats
itself. What a tool raises goes back to the model as the call's answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openai import APITimeoutError, OpenAI

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

INSTRUCTIONS = "Use the tools where they help, then answer briefly."


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
    max_tokens_a_round: int = 300
    max_repeats: int = 2


class AgentError(Exception):
    """The agent ended without an answer; the message says which limit it met."""


@dataclass
class Budget:
    """What is left of the limits.

    Raises:
        AgentError: by its methods, where nothing is.
    """

    limits: Limits
    started: float = field(default_factory=time.monotonic)
    num_tokens: int = 0
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)

    def seconds_left(self) -> float:
        """For the next request."""
        left = self.started + self.limits.max_seconds - time.monotonic()
        if left <= 0:
            raise self.out_of_time()
        return left

    def tokens_left(self) -> int:
        """For the next answer."""
        left = self.limits.max_tokens - self.num_tokens
        if left <= 0:
            raise AgentError(f"{self.limits.max_tokens} tokens were used")
        return min(left, self.limits.max_tokens_a_round)

    def count_call(self, name: str, arguments: str) -> None:
        """Take note of a call before it is made."""
        self.calls[name, arguments] += 1
        if self.calls[name, arguments] > self.limits.max_repeats:
            number = self.limits.max_repeats + 1
            raise AgentError(f"{name} was called {number} times with the same arguments")

    def out_of_time(self) -> AgentError:
        """The error for a request that took too long."""
        return AgentError(f"it took longer than {self.limits.max_seconds:g} seconds")


def run_agent(
    client: OpenAI, model: str, question: str, tools: Mapping[str, Tool], limits: Limits
) -> str:
    """Ask, run the calls that the model makes, ask again; its first answer without a call.

    Raises:
        AgentError: a limit was met first.
    """
    client = client.with_options(max_retries=0)  # the time limit holds for all tries together
    budget = Budget(limits)
    messages: list[Any] = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": question},
    ]
    for _ in range(limits.max_rounds):
        try:
            completion = client.chat.completions.create(
                model=model,
                messages=messages,
                tools=[tool.as_wire(name) for name, tool in tools.items()],
                temperature=0,
                max_tokens=budget.tokens_left(),
                timeout=budget.seconds_left(),
            )
        except APITimeoutError as error:
            raise budget.out_of_time() from error
        budget.num_tokens += completion.usage.total_tokens if completion.usage else 0
        message = completion.choices[0].message
        messages.append(message)  # the SDK's own object goes back as it is
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            assert call.type == "function"
            budget.count_call(call.function.name, call.function.arguments)
            answer, _ = answer_call(tools, call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})
    raise AgentError(f"no answer after {limits.max_rounds} rounds")


def answer_call(tools: Mapping[str, Tool], name: str, arguments: str) -> tuple[str, bool]:
    """The result of a call as JSON, and whether it is an error.

    An error is a result too, so that the model can do better.
    """
    print(f"  {name} {arguments}")
    try:
        return json.dumps(tools[name].run(**json.loads(arguments))), False
    except Exception as error:  # noqa: BLE001  # whatever a tool raises is for the model to read
        return json.dumps({"error": f"{type(error).__name__}: {error}"}), True


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


def connect() -> tuple[OpenAI, str]:
    """A client of the running server, and the model that it serves."""
    client = OpenAI(
        base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
        api_key=os.environ.get("OPENAI_API_KEY", "not needed"),
    )
    return client, client.models.list().data[0].id


def main() -> None:
    """Answer the question on the command line."""
    client, model = connect()
    question = " ".join(sys.argv[1:]) or "What is 7 * 6?"
    try:
        print(run_agent(client, model, question, TOOLS, Limits()))
    except AgentError as error:
        print(f"stopped: {error}")


if __name__ == "__main__":
    main()
