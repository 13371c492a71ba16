"""A tool prompt in Hermes form for models whose chat template knows no tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from server.chat.history import TemplateMessage

_INTRODUCTION = """\
# Tools

You can call functions to help with the request. Each line between <tools> and </tools> describes \
one function as a JSON object:
<tools>
{tools}
</tools>

To call a function, write a block of this form, and nothing else inside the tags:
<tool_call>
{{"name": "the name of the function", "arguments": {{"the name of an argument": "its value"}}}}
</tool_call>
Results come back between <tool_response> and </tool_response>."""


def with_tools_in_text(
    messages: Sequence[TemplateMessage], tools: Sequence[dict[str, object]]
) -> list[TemplateMessage]:
    """Write tools, calls and results into plain system, assistant and user messages."""
    converted = list(_as_plain_messages(messages))
    if not tools:
        return converted
    introduction = _INTRODUCTION.format(tools="\n".join(map(_json, tools)))
    if converted and converted[0]["role"] == "system":
        first = converted[0] | {"content": f"{converted[0]['content']}\n\n{introduction}"}
        return [first, *converted[1:]]
    return [{"role": "system", "content": introduction}, *converted]


def _as_plain_messages(messages: Sequence[TemplateMessage]) -> Iterator[TemplateMessage]:
    """Calls become text of the assistant; neighbouring results become one user message."""
    responses: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            responses.append(f"<tool_response>\n{message['content']}\n</tool_response>")
            continue
        if responses:
            yield {"role": "user", "content": "\n".join(responses)}
            responses = []
        yield _with_calls_in_text(message)
    if responses:
        yield {"role": "user", "content": "\n".join(responses)}


def _with_calls_in_text(message: TemplateMessage) -> TemplateMessage:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    blocks = [f"<tool_call>\n{_json(call['function'])}\n</tool_call>" for call in calls]
    content = "\n".join(filter(None, [str(message["content"]), *blocks]))
    rest = {name: value for name, value in message.items() if name != "tool_calls"}
    return rest | {"content": content}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
