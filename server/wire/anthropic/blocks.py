"""Content blocks of Anthropic's messages."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import WireModel


class TextBlock(WireModel):
    """A piece of text."""

    type: OneOf["text"]
    text: str
    citations: object = None
    cache_control: object = None


class ThinkingBlock(WireModel):
    """Earlier thoughts; the signature is not looked at."""

    type: OneOf["thinking"]
    thinking: str
    signature: str | None = None


class RedactedThinkingBlock(WireModel):
    """Thoughts that another server has encrypted: nobody here can read them."""

    type: OneOf["redacted_thinking"]
    data: str


class ToolUseBlock(WireModel):
    """A call that the assistant made earlier."""

    type: OneOf["tool_use"]
    id: str
    name: str
    input: dict[str, object]
    caller: object = None
    cache_control: object = None


class ToolResultBlock(WireModel):
    """The result of a call; without content the result is empty."""

    type: OneOf["tool_result"]
    tool_use_id: str
    content: str | list[TextBlock] | None = None
    is_error: bool | None = None
    cache_control: object = None


Block: TypeAlias = Annotated[
    TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ToolResultBlock,
    Field(discriminator="type"),
]
"""Images, documents and blocks of server tools are refused: the served models read text."""


class BlockMessage(WireModel):
    """A message; neighbours of the same role are one turn."""

    role: OneOf["user", "assistant", "system"]
    content: str | list[Block]


def joined_text(content: str | list[TextBlock] | None) -> str:
    """The texts of a content, each on lines of its own; null is empty."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(block.text for block in content if block.text)
