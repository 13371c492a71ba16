"""Effects: which fields of a request bind its answer, and which find nothing to do in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.tool_choice import CallMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.document import Document
    from server.tool_choice import ToolUse
    from server.wire.chat_request import ChatCompletionRequest


def binding_fields(
    request: ChatCompletionRequest, tools: ToolUse, document: Document | None
) -> tuple[str, ...]:
    """The fields whose constraints make the grammar of the answer, each enforced exactly."""
    fields = [document.param] if document is not None and tools.allows_text else []
    if tools.mode is not CallMode.NONE:
        fields.append("tools" if request.functions is None else "functions")
    return tuple(fields)


def idle_fields(
    request: ChatCompletionRequest, tools: ToolUse, document: Document | None
) -> Iterator[str]:
    """The fields that other ones have left without effect.

    * Forced calls leave no text that a document could be.
    * A stop string would cut a document or a call in the middle: it ends free text only.
    * Free text has no end to be brought to.
    """
    if document is not None and not tools.allows_text:
        yield document.param
    if request.stop and (document is not None or not tools.allows_text):
        yield "stop"
    if request.on_length == "close" and not binding_fields(request, tools, document):
        yield "on_length"
