"""The agent of `agent_loop.py` over Anthropic's Messages API and SDK: same tools, same limits.

Start the server (`make serve`), then: .venv/bin/python -m examples.anthropic_loop "What is 7 * 6?"
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from anthropic import Anthropic, APITimeoutError

from examples.agent_loop import INSTRUCTIONS, TOOLS, AgentError, Budget, Limits, Tool, answer_call

if TYPE_CHECKING:
    from collections.abc import Mapping


def run_agent(
    client: Anthropic, model: str, question: str, tools: Mapping[str, Tool], limits: Limits
) -> str:
    """Ask, run the calls that the model makes, ask again; its first answer without a call.

    Raises:
        AgentError: a limit was met first.
    """
    client = client.with_options(max_retries=0)  # the time limit holds for all tries together
    budget = Budget(limits)
    messages: list[Any] = [{"role": "user", "content": question}]
    for _ in range(limits.max_rounds):
        try:
            answer = client.messages.create(
                model=model,
                system=INSTRUCTIONS,
                messages=messages,
                tools=[_as_wire(name, tool) for name, tool in tools.items()],
                max_tokens=budget.tokens_left(),
                timeout=budget.seconds_left(),
            )
        except APITimeoutError as error:
            raise budget.out_of_time() from error
        budget.num_tokens += answer.usage.input_tokens + answer.usage.output_tokens
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "assistant", "content": answer.content})
        results = []
        for call in calls:
            arguments = json.dumps(call.input)
            budget.count_call(call.name, arguments)
            content, is_error = answer_call(tools, call.name, arguments)
            results.append(
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": content,
                    "is_error": is_error,
                }
            )
        messages.append({"role": "user", "content": results})
    raise AgentError(f"no answer after {limits.max_rounds} rounds")


def _as_wire(name: str, tool: Tool) -> Any:  # noqa: ANN401  # the SDK's own type is a union of dicts
    return {"name": name, "description": tool.description, "input_schema": tool.parameters}


def main() -> None:
    """Answer the question on the command line."""
    client = Anthropic(
        base_url=os.environ.get("ANTHROPIC_BASE_URL", "http://127.0.0.1:8000"),
        api_key=os.environ.get("ANTHROPIC_API_KEY", "not needed"),
    )
    question = " ".join(sys.argv[1:]) or "What is 7 * 6?"
    try:
        print(run_agent(client, client.models.list().data[0].id, question, TOOLS, Limits()))
    except AgentError as error:
        print(f"stopped: {error}")


if __name__ == "__main__":
    main()
