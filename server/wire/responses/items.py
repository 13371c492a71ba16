"""Items: what the input of a response is made of, and what its output is."""

from __future__ import annotations

import json
from typing import Annotated, TypeAlias, assert_never
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import Items, WireModel


class InputText(WireModel):
    """A piece of text; `output_text` is one of an earlier answer."""

    type: OneOf["input_text", "output_text", "text"]
    text: str
    annotations: list[object] | None = None
    logprobs: list[object] | None = None
    prompt_cache_breakpoint: dict[str, object] | None = None


class InputRefusal(WireModel):
    """An earlier refusal; shown to the model as text."""

    type: OneOf["refusal"]
    refusal: str


class InputJson(WireModel):
    """Evidence in JSON, shown to the model as text; OpenAI has it in decisions alone."""

    type: OneOf["input_json"]
    data: dict[str, object] | Items[dict[str, object]]


Part: TypeAlias = Annotated[InputText | InputRefusal | InputJson, Field(discriminator="type")]
ItemText: TypeAlias = str | Items[Part]
"""Text, whole or in parts. Images and files are refused: the served models read text."""


class MessageItem(WireModel):
    """A message; clients leave out the type of these alone (see `ResponsesRequest`)."""

    type: OneOf["message"]
    role: OneOf["user", "assistant", "system", "developer"]
    content: ItemText
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class FunctionCallItem(WireModel):
    """An earlier call of a function; arguments are JSON text."""

    type: OneOf["function_call"]
    call_id: str
    name: str
    arguments: str
    id: str | None = None
    status: str | None = None


class FunctionOutputItem(WireModel):
    """The result of a function call."""

    type: OneOf["function_call_output"]
    call_id: str
    output: ItemText
    id: str | None = None
    status: str | None = None


class CustomCallItem(WireModel):
    """An earlier call of a custom tool; its input is a text."""

    type: OneOf["custom_tool_call"]
    call_id: str
    name: str
    input: str
    id: str | None = None
    status: str | None = None


class CustomOutputItem(WireModel):
    """The result of a call of a custom tool."""

    type: OneOf["custom_tool_call_output"]
    call_id: str
    output: ItemText
    id: str | None = None
    status: str | None = None


class ThoughtPart(WireModel):
    """A piece of earlier thoughts, or of a summary of them."""

    type: OneOf["reasoning_text", "summary_text"]
    text: str


class ReasoningItem(WireModel):
    """Earlier thoughts. Those of this server stand in `content`; encrypted ones are not shown."""

    type: OneOf["reasoning"]
    id: str | None = None
    summary: Items[ThoughtPart] | None = None
    content: Items[ThoughtPart] | None = None
    encrypted_content: str | None = None
    status: str | None = None


class ItemReference(WireModel):
    """An output item of an earlier response that is stored, by its id."""

    type: OneOf["item_reference"]
    id: str


GivenItem: TypeAlias = (
    MessageItem
    | FunctionCallItem
    | FunctionOutputItem
    | CustomCallItem
    | CustomOutputItem
    | ReasoningItem
)
InputItem: TypeAlias = Annotated[GivenItem | ItemReference, Field(discriminator="type")]


def with_types(items: object) -> object:
    """The items of a body, messages with the type that clients leave out."""
    if not isinstance(items, list):
        return items
    return [
        {"type": "message"} | item if isinstance(item, dict) and "role" in item else item
        for item in items
    ]


def item_text(content: ItemText) -> str:
    """The text of a content, its parts joined without separator."""
    if isinstance(content, str):
        return content
    return "".join(map(_part_text, content))


def _part_text(part: InputText | InputRefusal | InputJson) -> str:
    match part:
        case InputText():
            return part.text
        case InputRefusal():
            return part.refusal
        case InputJson():
            return json.dumps(part.data, ensure_ascii=False)
        case _:
            assert_never(part)
