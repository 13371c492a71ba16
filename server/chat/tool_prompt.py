"""A tool prompt of our own, for models whose chat template does not show tools or calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from server.calls.formats import calls_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from server.calls.syntax import CallSyntax
    from server.chat.history import TemplateMessage

_INTRODUCTION: Final = """\
# Tools

You can call functions to help with the request. Each line between <tools> and </tools> describes \
one function as a JSON object:
<tools>
{tools}
</tools>

To call a function, write this, with nothing else inside:
{example}"""
_RESULTS: Final = "\nResults come back between <tool_response> and </tool_response>."
_EXAMPLE_NAME: Final = "the name of the function"
_EXAMPLE_ARGUMENTS: Final = {"the name of an argument": "its value"}


def with_tools_in_system(
    messages: Sequence[TemplateMessage],
    tools: Sequence[dict[str, object]],
    syntax: CallSyntax,
    *,
    results_in_text: bool,
) -> list[TemplateMessage]:
    """Tell of the tools in the system message, or in one of its own; without tools, nothing.

    Args:
        messages: of the conversation.
        tools: OpenAI's tool objects.
        syntax: how the model writes calls.
        results_in_text: results are written by us too, so that the model is told how.
    """
    if not tools:
        return list(messages)
    example = calls_text(syntax, [(_EXAMPLE_NAME, _EXAMPLE_ARGUMENTS)])
    introduction = _INTRODUCTION.format(tools="\n".join(map(_json, tools)), example=example)
    introduction += _RESULTS if results_in_text else ""
    if messages and messages[0]["role"] == "system":
        first = messages[0] | {"content": f"{messages[0]['content']}\n\n{introduction}"}
        return [first, *messages[1:]]
    return [{"role": "system", "content": introduction}, *messages]


def with_calls_in_text(
    messages: Sequence[TemplateMessage], syntax: CallSyntax
) -> Iterator[TemplateMessage]:
    """Calls become text of the assistant; neighbouring results become one user message."""
    responses: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            responses.append(f"<tool_response>\n{message['content']}\n</tool_response>")
            continue
        if responses:
            yield {"role": "user", "content": "\n".join(responses)}
            responses = []
        yield _with_calls_in_text(message, syntax)
    if responses:
        yield {"role": "user", "content": "\n".join(responses)}


def _with_calls_in_text(message: TemplateMessage, syntax: CallSyntax) -> TemplateMessage:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    functions = [call["function"] for call in calls]
    pairs = [(function["name"], function["arguments"]) for function in functions]
    content = "\n".join(filter(None, [str(message["content"]), calls_text(syntax, pairs)]))
    rest = {name: value for name, value in message.items() if name != "tool_calls"}
    return rest | {"content": content}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
