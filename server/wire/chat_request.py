"""ChatCompletionRequest: the body of POST /v1/chat/completions."""

from __future__ import annotations

from typing import Annotated
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import Items, Members, WireModel
from server.wire.formats import ResponseFormat
from server.wire.messages import Message
from server.wire.sampling_fields import SamplingFields
from server.wire.tools import FunctionChoice, FunctionDefinition, Tool, ToolChoice


class StreamOptions(WireModel):
    """Options of a streamed answer; obfuscation is never added, whatever is asked."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


def ignored_options(options: StreamOptions | None) -> list[str]:
    """The paths of those that are set and have no effect."""
    is_ignored = options is not None and options.include_obfuscation
    return ["stream_options.include_obfuscation"] if is_ignored else []


class ChatCompletionRequest(SamplingFields):
    """A chat request; null means absent everywhere, as with OpenAI.

    Fields that are taken without effect are in `server.wire.policy.IGNORED_FIELDS`, those refused
    by name in `REFUSED_FIELDS`.
    """

    model: str
    messages: Items[Message]

    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1)] | None = None

    tools: Items[Tool] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    functions: Items[FunctionDefinition] | None = None
    function_call: FunctionChoice | None = None
    response_format: ResponseFormat | None = None

    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None

    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None

    reasoning_effort: OneOf["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = (
        None
    )
    thinking_token_budget: Annotated[int, Field(ge=0)] | None = None
    chat_template_kwargs: dict[str, object] | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    modalities: Items[OneOf["text"]] | None = None

    user: str | None = None
    metadata: Members[str] | None = None
    store: bool | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, object] | None = None
    prompt_cache_retention: str | None = None
    prediction: dict[str, object] | None = None
    verbosity: OneOf["low", "medium", "high"] | None = None
