"""MessagesRequest: the body of POST /v1/messages, and that of /v1/messages/count_tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final
from typing import Literal as OneOf

from pydantic import Field

from server.request_errors import UnsupportedThreadError, UnsupportedValueError
from server.wire.anthropic.blocks import BlockMessage, TextBlock
from server.wire.base import Items, WireModel
from server.wire.parsing import parse_request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    RequestT = TypeVar("RequestT", bound="CountTokensRequest")

_REFUSED: Final = {
    "mcp_servers": "connect to them in your program, and pass their tools",
    "container": "this server runs no code; remove it",
    "compaction": "shorten the messages in your program",
}
"""Fields whose silent loss would change the answer, each with the way out."""


class ToolDefinition(WireModel):
    """A tool; its calls are bound to the schema whatever `strict` says, and always streamed."""

    type: OneOf["custom"] | None = None
    name: str
    description: str | None = None
    input_schema: dict[str, object]
    strict: bool | None = None
    eager_input_streaming: bool | None = None
    input_examples: object = None
    defer_loading: object = None
    allowed_callers: object = None
    cache_control: object = None


class ToolChoice(WireModel):
    """Whether tools are called: as the model likes, one or more, the one of this name, none."""

    type: OneOf["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class ThinkingConfig(WireModel):
    """Whether the model thinks, and for how many tokens at most, where thinking is `enabled`.

    The thoughts are always returned.
    """

    type: OneOf["enabled", "adaptive", "between_tools", "disabled"]
    budget_tokens: Annotated[int, Field(ge=0)] | None = None
    display: str | None = None


class JsonFormat(WireModel):
    """A document that is valid under a JSON Schema."""

    type: OneOf["json_schema"]
    schema_: dict[str, object] | bool = Field(alias="schema")


class OutputConfig(WireModel):
    """What the text is bound to, and how much the model thinks about it."""

    format: JsonFormat | None = None
    effort: OneOf["low", "medium", "high", "xhigh", "max"] | None = None


class CountTokensRequest(WireModel):
    """What makes the prompt; null means absent. `output_format` is the older name of a format."""

    model: str
    messages: Items[BlockMessage]
    system: str | Items[TextBlock] | None = None
    tools: Items[ToolDefinition] | None = None
    tool_choice: ToolChoice | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    output_format: JsonFormat | None = None

    betas: object = None
    billing_policy: object = None
    cache_control: object = None
    context_management: object = None
    diagnostics: object = None
    fallbacks: object = None
    fallback_credit_token: object = None
    inference_geo: object = None
    metadata: object = None
    service_tier: object = None
    speed: object = None
    user_profile_id: object = None
    workspace_id: object = None


class MessagesRequest(CountTokensRequest):
    """A request for the next message."""

    max_tokens: Annotated[int, Field(ge=1)]
    stream: bool | None = None
    stop_sequences: Items[str] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None


def parse_messages_request(
    kind: type[RequestT], body: Mapping[str, object], *, strict_params: bool
) -> tuple[RequestT, tuple[str, ...]]:
    """Type a body; the second value are the paths of fields that nobody knows.

    Raises:
        UnsupportedThreadError: `thread` is set.
        UnsupportedValueError: a tool of a type that only Anthropic's own servers or models know.
        RequestError: see `parse_request`.
    """
    if body.get("thread") is not None:
        raise UnsupportedThreadError
    tools = body.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else []):
        given = tool.get("type") if isinstance(tool, dict) else None
        if given not in (None, "custom"):
            raise UnsupportedValueError(
                f"tools[{index}].type",
                f"{str(given)[:64]!r} is not supported; declare a tool of your own, with a name "
                "and an input_schema",
            )
    return parse_request(kind, body, _REFUSED, strict_params=strict_params)
