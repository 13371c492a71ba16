"""ResponsesRequest: the body of POST /v1/responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, TypeAlias
from typing import Literal as OneOf

from pydantic import Field, field_validator

from server.request_errors import MissingFieldError
from server.wire.base import Items, Members, WireModel
from server.wire.formats import (
    GrammarFormat,
    JsonObjectFormat,
    RegexFormat,
    StructuralTagFormat,
    TextFormat,
)
from server.wire.parsing import parse_request
from server.wire.responses.items import InputItem, ReasoningItem, with_types
from server.wire.responses.tools import FlatTool, FlatToolChoice
from server.wire.sampling_fields import SamplingFields
from server.wire.thinking_budget import OTHER_BUDGET_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NOT_STORED_HERE: Final = "this server keeps single responses alone; use previous_response_id"

REFUSED_FIELDS: Final = {
    "background": "answers are given at once; remove it",
    "background_options": "answers are given at once; remove it",
    "conversation": _NOT_STORED_HERE,
    "prompt": "this server keeps no prompts; use instructions and input",
    "context_management": "the context is never changed; remove it",
    "moderation": "this server does not moderate; remove it",
    "image": "the served models read text alone; remove it",
    "access_programs": "this server has none; remove it",
    "messages": "use input",
    "max_tokens": "use max_output_tokens",
    "response_format": "use text.format",
    "n": "one response has one answer; send several requests",
    **OTHER_BUDGET_NAMES,
}
"""Fields whose silent loss would change the answer."""

_WITHOUT_EFFECT: Final = (
    "max_tool_calls",
    "user",
    "safety_identifier",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
)
LOGPROBS: Final = "message.output_text.logprobs"
"""The one member of `include` that has an effect: there are no hosted tools, images, or secrets."""

Effort: TypeAlias = OneOf["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class FlatJsonSchemaFormat(WireModel):
    """A document that is valid under a JSON Schema."""

    type: OneOf["json_schema"]
    name: str
    schema_: dict[str, object] | bool = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None


class TextOptions(WireModel):
    """What the text is bound to."""

    format: (
        Annotated[
            TextFormat
            | JsonObjectFormat
            | FlatJsonSchemaFormat
            | GrammarFormat
            | RegexFormat
            | StructuralTagFormat,
            Field(discriminator="type"),
        ]
        | None
    ) = None
    verbosity: OneOf["low", "medium", "high"] | None = None


class ReasoningOptions(WireModel):
    """How much the model thinks; the thoughts are returned whole, never summed up."""

    effort: Effort | None = None
    summary: OneOf["auto", "concise", "detailed"] | None = None
    generate_summary: OneOf["auto", "concise", "detailed"] | None = None


class ResponsesStreamOptions(WireModel):
    """Options of a stream; obfuscation is never added, whatever is asked."""

    include_obfuscation: bool | None = None


class ResponsesRequest(SamplingFields):
    """A request for a response; null means absent. One that goes on from another needs no input."""

    model: str
    input: str | Items[InputItem] | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    store: bool | None = None
    metadata: Members[str] | None = None

    stream: bool | None = None
    stream_options: ResponsesStreamOptions | None = None
    include: Items[str] | None = None

    text: TextOptions | None = None
    tools: Items[FlatTool] | None = None
    tool_choice: FlatToolChoice | None = None
    parallel_tool_calls: bool | None = None
    reasoning: ReasoningOptions | None = None
    thinking_token_budget: Annotated[int, Field(ge=0)] | None = None
    chat_template_kwargs: dict[str, object] | None = None

    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    truncation: OneOf["auto", "disabled"] | None = None

    max_tool_calls: int | None = None
    user: str | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, object] | None = None
    prompt_cache_retention: str | None = None

    @field_validator("input", mode="before")
    @classmethod
    def _name_messages(cls, value: object) -> object:
        """Give messages the type that clients leave out."""
        return with_types(value)

    @property
    def has_logprobs(self) -> bool:
        """Whether the text comes with the log probabilities of its tokens."""
        return LOGPROBS in (self.include or ())


def parse_responses_request(
    body: Mapping[str, object], *, strict_params: bool
) -> tuple[ResponsesRequest, tuple[str, ...], tuple[str, ...]]:
    """Type a parsed body.

    Returns:
        The request, the names of what has no effect, and those that no type declares.

    Raises:
        RequestError: a field is refused, missing, or has a wrong value; `param` is its path.
    """
    request, unknown = parse_request(
        ResponsesRequest, body, REFUSED_FIELDS, strict_params=strict_params
    )
    if request.input is None and request.previous_response_id is None:
        raise MissingFieldError("input")
    return request, tuple(_without_effect(request)), unknown


def _without_effect(request: ResponsesRequest) -> Iterator[str]:
    yield from (name for name in _WITHOUT_EFFECT if getattr(request, name) is not None)
    if request.truncation == "auto":
        yield "truncation"
    if request.stream_options is not None and request.stream_options.include_obfuscation:
        yield "stream_options.include_obfuscation"
    for name in ("summary", "generate_summary"):
        if request.reasoning is not None and getattr(request.reasoning, name) is not None:
            yield f"reasoning.{name}"
    for index, name in enumerate(request.include or ()):
        if name != LOGPROBS:
            yield f"include[{index}]"
    for index, item in enumerate(request.input if isinstance(request.input, list) else ()):
        if isinstance(item, ReasoningItem) and item.encrypted_content is not None:
            yield f"input[{index}].encrypted_content"
    if request.top_logprobs and not request.has_logprobs:
        yield "top_logprobs"
