"""Adaptation: messages in the shapes that one model's template can render."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final, cast

from server.calls.formats import MISTRAL, MISTRAL_ARGS
from server.calls.syntax import ArgumentForm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from server.calls.syntax import CallSyntax
    from server.chat.abilities import TemplateAbilities
    from server.chat.history import TemplateMessage

_SHORT_ID_CHARS: Final = 9
"""Templates of Mistral take ids of nine letters and digits only."""

_Call = dict[str, object]


def with_systems(
    messages: Sequence[TemplateMessage], abilities: TemplateAbilities
) -> list[TemplateMessage]:
    """System messages that come first: as they are, or as one, or in front of the first question.

    Those that come later are the template's own business: it renders them or refuses them.
    """
    num_systems = next((i for i, m in enumerate(messages) if m["role"] != "system"), len(messages))
    rest = list(messages[num_systems:])
    takes_all = abilities.takes_several_systems or num_systems < 2
    if num_systems == 0 or (abilities.takes_system and takes_all):
        return list(messages)
    text = "\n\n".join(str(message["content"]) for message in messages[:num_systems])
    if abilities.takes_system:
        return [{"role": "system", "content": text}, *rest]
    if rest and rest[0]["role"] == "user":
        first = rest[0] | {"content": f"{text}\n\n{rest[0]['content']}"}
        return [first, *rest[1:]]
    return [{"role": "user", "content": text}, *rest]


def with_calls(
    messages: Sequence[TemplateMessage], abilities: TemplateAbilities, syntax: CallSyntax
) -> list[TemplateMessage]:
    """Calls and results in the shape that the template renders.

    Args:
        messages: with calls as `server.chat.history` makes them.
        abilities: of the template.
        syntax: the format that it writes calls in.
    """
    adapted = [_adapted(message, abilities, syntax) for message in messages]
    return adapted if abilities.takes_several_calls else list(_one_call_each(adapted))


def _adapted(
    message: TemplateMessage, abilities: TemplateAbilities, syntax: CallSyntax
) -> TemplateMessage:
    has_short_ids = syntax in (MISTRAL, MISTRAL_ARGS)
    if has_short_ids and message["role"] == "tool":
        return message | {"tool_call_id": _short_id(str(message["tool_call_id"]))}
    if not message.get("tool_calls"):
        return message
    calls = []
    for call in _calls_of(message):
        function = cast("dict[str, object]", call["function"])
        arguments = _adapted_arguments(function["arguments"], abilities, syntax)
        call_id = _short_id(str(call["id"])) if has_short_ids else call["id"]
        calls.append(call | {"id": call_id, "function": function | {"arguments": arguments}})
    return message | {"tool_calls": calls}


def _adapted_arguments(
    arguments: object, abilities: TemplateAbilities, syntax: CallSyntax
) -> object:
    if syntax.arguments is ArgumentForm.PARAMETERS:
        named = arguments if isinstance(arguments, dict) else {"arguments": arguments}
        return {key: v if isinstance(v, str) else _json(v) for key, v in named.items()}
    if abilities.takes_arguments_as_text and not isinstance(arguments, str):
        return _json(arguments)
    return arguments


def _one_call_each(messages: Sequence[TemplateMessage]) -> Iterator[TemplateMessage]:
    """Calls that were made at once, as if made one after the other: each with its result."""
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        calls = _calls_of(message)
        if len(calls) < 2:
            yield message
            continue
        results = []
        while index < len(messages) and messages[index]["role"] == "tool":
            results.append(messages[index])
            index += 1
        for place, call in enumerate(calls):
            content = message["content"] if place == 0 else ""
            yield message | {"content": content, "tool_calls": [call]}
            yield from (r for r in results if r["tool_call_id"] == call["id"])


def _calls_of(message: TemplateMessage) -> list[_Call]:
    return cast("list[_Call]", message.get("tool_calls") or [])


def _short_id(call_id: str) -> str:
    """The id itself if it is short enough, else one made from it: equal ids stay equal."""
    if len(call_id) == _SHORT_ID_CHARS and call_id.isascii() and call_id.isalnum():
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()[:_SHORT_ID_CHARS]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
