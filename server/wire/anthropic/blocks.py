"""Content blocks of Anthropic's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, assert_never
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import Items, WireModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class TextBlock(WireModel):
    """A piece of text."""

    type: OneOf["text"]
    text: str
    citations: object = None
    cache_control: object = None


class PlainText(WireModel):
    """A document that is a text."""

    type: OneOf["text"]
    media_type: OneOf["text/plain"]
    data: str


class TextContent(WireModel):
    """A document that is a text, whole or in blocks."""

    type: OneOf["content"]
    content: str | Items[TextBlock]


class DocumentBlock(WireModel):
    """A document, as far as it is text; those in PDF are refused. Nothing is cited."""

    type: OneOf["document"]
    source: Annotated[PlainText | TextContent, Field(discriminator="type")]
    title: str | None = None
    context: str | None = None
    citations: object = None
    cache_control: object = None


class SearchResultBlock(WireModel):
    """A piece of text that was found somewhere. Nothing is cited."""

    type: OneOf["search_result"]
    source: str
    title: str
    content: Items[TextBlock]
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


TextualBlock: TypeAlias = TextBlock | DocumentBlock | SearchResultBlock


class ToolResultBlock(WireModel):
    """The result of a call; without content the result is empty."""

    type: OneOf["tool_result"]
    tool_use_id: str
    content: str | Items[Annotated[TextualBlock, Field(discriminator="type")]] | None = None
    is_error: bool | None = None
    cache_control: object = None


Block: TypeAlias = Annotated[
    TextualBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ToolResultBlock,
    Field(discriminator="type"),
]
"""Images and blocks of server tools are refused: the served models read text."""


class BlockMessage(WireModel):
    """A message; neighbours of the same role are one turn."""

    role: OneOf["user", "assistant", "system"]
    content: str | Items[Block]


def joined_text(content: str | Sequence[TextualBlock] | None) -> str:
    """The texts of a content, each on lines of its own; null is empty."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(filter(None, map(_text_of, content)))


def _text_of(block: TextualBlock) -> str:
    match block:
        case TextBlock():
            return block.text
        case DocumentBlock():
            source = block.source
            text = source.data if isinstance(source, PlainText) else joined_text(source.content)
            return _tagged("document", {"title": block.title, "context": block.context}, text)
        case SearchResultBlock():
            facts = {"source": block.source, "title": block.title}
            return _tagged("search_result", facts, joined_text(block.content))
        case _:
            assert_never(block)


def _tagged(tag: str, facts: Mapping[str, str | None], text: str) -> str:
    """A text that others stand beside, in the tags that Anthropic's guides put around such."""
    lines = [f"<{name}>{fact}</{name}>" for name, fact in facts.items() if fact]
    return "\n".join([f"<{tag}>", *lines, text, f"</{tag}>"])
