"""History: wire messages to the messages that a chat template reads, checked and protected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias, assert_never

from server.calls.tool import CUSTOM_INPUT
from server.json_guard import NotJsonError, parse_json
from server.request_errors import InvalidValueError, MissingFieldError
from server.wire.messages import (
    AssistantMessage,
    FunctionMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
    content_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from server.chat.shield import Shield
    from server.wire.messages import Message, ToolCallMessage

TemplateMessage: TypeAlias = dict[str, object]
"""What templates read: role, content (always text); name, tool_calls, reasoning_content if any."""


def check_history(messages: Sequence[Message]) -> None:
    """Check that calls and their results belong together.

    Raises:
        InvalidValueError: a result without its call, or a call without its result; ids are named.
        MissingFieldError: a call without what its type says.
    """
    missing: dict[str, None] = {}
    known: set[str] = set()
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            call_id = _call_id(message)
            if call_id is None:
                raise InvalidValueError(
                    f"messages[{index}].tool_call_id", "a tool message needs the id of its call"
                )
            if call_id not in known:
                raise InvalidValueError(
                    f"messages[{index}].role",
                    f"no assistant message before this one has a tool call {call_id[:64]!r}",
                )
            missing.pop(call_id, None)
            continue
        _refuse_missing(missing, index)
        calls = message.tool_calls or [] if isinstance(message, AssistantMessage) else []
        for place, call in enumerate(calls):
            if (call.function if call.type == "function" else call.custom) is None:
                raise MissingFieldError(f"messages[{index}].tool_calls[{place}].{call.type}")
        known = {call.id for call in calls}
        missing = dict.fromkeys(call.id for call in calls)
    _refuse_missing(missing, len(messages))


def _refuse_missing(missing: dict[str, None], index: int) -> None:
    if missing:
        ids = ", ".join(call_id[:64] for call_id in missing)
        raise InvalidValueError(
            f"messages[{index}].role", f"tool messages must answer these calls first: {ids}"
        )


def _call_id(message: ToolMessage) -> str | None:
    return message.tool_call_id or message.id


def template_messages(messages: Sequence[Message]) -> list[TemplateMessage]:
    """The messages as templates expect them, not protected yet."""
    return list(_template_messages(messages))


def _template_messages(messages: Sequence[Message]) -> Iterator[TemplateMessage]:
    names_of_calls: dict[str, str] = {}
    for message in messages:
        converted: TemplateMessage = {
            "role": message.role,
            "content": content_text(message.content),
        }
        if message.name is not None:
            converted["name"] = message.name
        match message:
            case SystemMessage():
                converted["role"] = "system"
            case UserMessage():
                pass
            case AssistantMessage():
                converted |= _assistant_fields(message)
                names_of_calls |= {call.id: _called(call)[0] for call in message.tool_calls or []}
            case ToolMessage():
                call_id = _call_id(message) or ""
                converted["tool_call_id"] = call_id
                converted.setdefault("name", names_of_calls.get(call_id, ""))
            case FunctionMessage():
                raise AssertionError("older messages were converted")
            case _:
                assert_never(message)
        yield converted


def _assistant_fields(message: AssistantMessage) -> TemplateMessage:
    fields: TemplateMessage = {}
    if message.content is None and message.refusal:
        fields["content"] = message.refusal
    if thoughts := message.reasoning_content or message.reasoning:
        fields["reasoning_content"] = thoughts
    if message.tool_calls:
        fields["tool_calls"] = [_template_call(call) for call in message.tool_calls]
    return fields


def _template_call(call: ToolCallMessage) -> dict[str, object]:
    name, arguments = _called(call)
    function = {"name": name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def protected_messages(
    messages: Sequence[TemplateMessage], shield: Shield
) -> list[TemplateMessage]:
    """The same messages with every text of the caller protected: all but roles and our own keys."""
    return [
        {key: _protected(key, value, shield) for key, value in message.items()}
        for message in messages
    ]


def _protected(key: str, value: object, shield: Shield) -> object:
    match value:
        case list(calls):
            return [_protected_call(call, shield) for call in calls]
        case str(text) if key != "role":
            return shield.protect(text)
        case _:
            return value


def _protected_call(call: Mapping[str, object], shield: Shield) -> dict[str, object]:
    function = call["function"]
    assert isinstance(function, dict), "made above"
    protected = {key: shield.protect_json(value) for key, value in function.items()}
    return {**call, "id": shield.protect_json(call["id"]), "function": protected}


def _called(call: ToolCallMessage) -> tuple[str, object]:
    """Name and arguments of an earlier call, a custom one in the form that the model wrote."""
    if call.type == "custom":
        assert call.custom is not None, "the history was checked"
        return call.custom.name, {CUSTOM_INPUT: call.custom.input}
    assert call.function is not None, "the history was checked"
    return call.function.name, call_arguments(call.function.arguments)


def call_arguments(arguments: object) -> object:
    """The arguments of an earlier call as a JSON object, which is what templates print.

    Missing, null, "null" and "" are `{}`. What is no JSON object (a call cut off by max_tokens, or
    broken by its client), or nested so deep that no template could walk it, stays the text that it
    is.
    """
    if arguments is None:
        return {}
    if not isinstance(arguments, str):
        return arguments if isinstance(arguments, dict) else json.dumps(arguments)
    if not arguments.strip():
        return {}
    try:
        value = parse_json(arguments)
    except NotJsonError:
        return arguments
    if value is None:
        return {}
    return value if isinstance(value, dict) else arguments
