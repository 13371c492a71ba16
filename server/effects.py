"""Effects: which fields of a request constrain its answer, and which have no effect on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.spec import with_property_order
from server.chat.thinking import Thinking
from server.tool_choice import CallMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.spec import GrammarSpec
    from server.document import Document
    from server.tool_choice import ToolUse
    from server.wire.chat_request import ChatCompletionRequest


def binding_fields(
    request: ChatCompletionRequest, tools: ToolUse, document: Document | None, thinking: Thinking
) -> tuple[str, ...]:
    """The fields whose constraints make the grammar of the answer, each enforced exactly."""
    fields = [document.param] if document is not None and tools.allows_text else []
    if tools.mode is not CallMode.NONE:
        fields.append("tools" if request.functions is None else "functions")
    if request.thinking_token_budget is not None and thinking is not Thinking.NONE:
        fields.append("thinking_token_budget")
    return tuple(fields)


def idle_fields(
    request: ChatCompletionRequest,
    tools: ToolUse,
    document: Document | None,
    thinking: Thinking,
    spec: GrammarSpec | None,
) -> Iterator[str]:
    """The fields that have no effect beside the others; `spec` is the grammar of the answer.

    * A document's field where calls are forced: they leave no text that could be the document.
    * `stop` where only a document or calls may be written: it would cut them in the middle.
    * `on_length: "close"` with free text, which is complete wherever it ends.
    * `property_order` where the answer has no JSON, whose keys it would order.
    * `ignore_eos` under any grammar, which says where the answer ends.
    * `thinking_token_budget` where the model does not think.
    """
    if document is not None and not tools.allows_text:
        yield document.param
    if request.stop and (document is not None or not tools.allows_text):
        yield "stop"
    if request.on_length == "close" and not binding_fields(request, tools, document, thinking):
        yield "on_length"
    if request.property_order is not None and not _has_json(spec):
        yield "property_order"
    if request.ignore_eos and spec is not None:
        yield "ignore_eos"
    if request.thinking_token_budget is not None and thinking is Thinking.NONE:
        yield "thinking_token_budget"


def _has_json(spec: GrammarSpec | None) -> bool:
    """Whether the order of keys makes a difference to the texts of a spec."""
    if spec is None:
        return False
    return with_property_order(spec, "any") != with_property_order(spec, "schema")
