"""TemplateAbilities: what a chat template can render, found by rendering probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from server.calls.formats import shown_format
from server.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.calls.syntax import CallSyntax
    from server.chat.history import TemplateMessage

_NAME: Final = "probe_of_tool_support"
_ARGUMENTS: Final[dict[str, object]] = {"probe": "value"}
_ARGUMENTS_TEXT: Final = '{"probe": "value"}'
_TOOL: Final[dict[str, object]] = {
    "type": "function",
    "function": {
        "name": _NAME,
        "description": "A probe.",
        "parameters": {"type": "object", "properties": {"probe": {"type": "string"}}},
    },
}
_SHORT_ID: Final = "probecal1"
_QUESTION: Final[TemplateMessage] = {"role": "user", "content": "hi"}
_SYSTEM: Final[TemplateMessage] = {"role": "system", "content": "probe of system messages"}


@dataclass(frozen=True, slots=True)
class TemplateAbilities:
    """What a template does with the parts of a conversation.

    Args:
        renders_tools: tools that are passed to it show up in the prompt.
        calls: the format in which it writes earlier calls; None: in none that we know.
        takes_arguments_as_text: it wants the arguments of calls as JSON text, not as an object.
        takes_several_calls: a message may have more than one call.
        takes_system: a system message may come first.
        takes_several_systems: more than one may.
    """

    renders_tools: bool
    calls: CallSyntax | None
    takes_arguments_as_text: bool
    takes_several_calls: bool
    takes_system: bool
    takes_several_systems: bool


def find_abilities(
    render: Callable[[Sequence[TemplateMessage], Sequence[dict[str, object]]], str],
) -> TemplateAbilities:
    """Probe a template.

    Args:
        render: messages and tools to the prompt; raises RequestError for what it refuses.
    """

    def probe(*messages: TemplateMessage, tools: Sequence[dict[str, object]] = ()) -> str:
        try:
            return render(messages, tools)
        except RequestError:
            return ""

    renders_tools = _NAME in probe(_QUESTION, tools=[_TOOL])
    tools = [_TOOL] if renders_tools else []
    calls: CallSyntax | None = None
    takes_text = False
    for as_text in (False, True):
        rendered = probe(*_history(1, as_text=as_text), tools=tools)
        if calls is None and (calls := shown_format(rendered, _NAME, _ARGUMENTS)) is not None:
            takes_text = as_text
    several = _history(2, as_text=takes_text)
    return TemplateAbilities(
        renders_tools=renders_tools,
        calls=calls,
        takes_arguments_as_text=takes_text,
        takes_several_calls=calls is None or bool(probe(*several, tools=tools)),
        takes_system=str(_SYSTEM["content"]) in probe(_SYSTEM, _QUESTION),
        takes_several_systems=bool(probe(_SYSTEM, _SYSTEM, _QUESTION)),
    )


def _history(num_calls: int, *, as_text: bool) -> list[TemplateMessage]:
    """A conversation in which the assistant called the probe this many times at once."""
    call_ids = [f"{_SHORT_ID[:-1]}{index}" for index in range(num_calls)]
    function = {"name": _NAME, "arguments": _ARGUMENTS_TEXT if as_text else _ARGUMENTS}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in call_ids]
    results: list[TemplateMessage] = [
        {"role": "tool", "content": "ok", "tool_call_id": call_id, "name": _NAME}
        for call_id in call_ids
    ]
    return [_QUESTION, {"role": "assistant", "content": "", "tool_calls": calls}, *results]
