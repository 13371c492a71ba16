"""Messages: the chat history of a request."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import Items, WireModel


class TextPart(WireModel):
    """A piece of text inside a content list."""

    type: OneOf["text"]
    text: str


class RefusalPart(WireModel):
    """An earlier refusal of the assistant inside a content list; shown to the model as text."""

    type: OneOf["refusal"]
    refusal: str


ContentPart: TypeAlias = Annotated[TextPart | RefusalPart, Field(discriminator="type")]
Content: TypeAlias = str | Items[ContentPart]
"""Text, whole or in parts. Images, audio and files are refused: the served models read text."""


class CalledFunction(WireModel):
    """The function of an earlier call; arguments are JSON text, or what a client made of it."""

    name: str
    arguments: object = None


class CustomCall(WireModel):
    """An earlier call of a custom tool: its input is a text."""

    name: str
    input: str


class ToolCallMessage(WireModel):
    """A call that the assistant made earlier; its type says which of the two it has."""

    id: str
    type: OneOf["function", "custom"] = "function"
    function: CalledFunction | None = None
    custom: CustomCall | None = None


class SystemMessage(WireModel):
    """Instructions; `developer` is the newer name of the same role."""

    role: OneOf["system", "developer"]
    content: Content
    name: str | None = None


class UserMessage(WireModel):
    """What the user said."""

    role: OneOf["user"]
    content: Content
    name: str | None = None


class AssistantMessage(WireModel):
    """What the model answered earlier: text, calls, or both."""

    role: OneOf["assistant"]
    content: Content | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    name: str | None = None
    tool_calls: Items[ToolCallMessage] | None = None
    annotations: list[object] | None = None
    audio: None = None
    function_call: CalledFunction | None = None


class ToolMessage(WireModel):
    """The result of a call. `id` is taken where a client sends it for `tool_call_id`."""

    role: OneOf["tool"]
    content: Content
    tool_call_id: str | None = None
    id: str | None = None
    name: str | None = None


class FunctionMessage(WireModel):
    """The result of the older `function_call`."""

    role: OneOf["function"]
    name: str
    content: Content | None


Message: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage,
    Field(discriminator="role"),
]


def content_text(content: Content | None) -> str:
    """The text of a content, its parts joined without separator; null is empty."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part.text if isinstance(part, TextPart) else part.refusal for part in content)
