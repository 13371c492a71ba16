"""ChatCompletionRequest: the body of POST /v1/chat/completions."""

from __future__ import annotations

from typing import Annotated
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import WireModel
from server.wire.formats import ResponseFormat, StructuredOutputs
from server.wire.messages import Message
from server.wire.tools import FunctionChoice, FunctionDefinition, Tool, ToolChoice


class StreamOptions(WireModel):
    """Options of a streamed answer; obfuscation is never added, whatever is asked."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class ChatCompletionRequest(WireModel):
    """A chat request; null means absent everywhere, as with OpenAI.

    Fields that are taken without effect are in `server.wire.policy.IGNORED_FIELDS`, those refused
    by name in `REFUSED_FIELDS`.
    """

    model: str
    messages: list[Message]

    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1)] | None = None

    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    functions: list[FunctionDefinition] | None = None
    function_call: FunctionChoice | None = None
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, object] | bool | str | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
    grammar: str | None = None
    json_schema: dict[str, object] | bool | None = None
    on_length: OneOf["cut", "close"] | None = None

    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    min_tokens: Annotated[int, Field(ge=0)] | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[Annotated[int, Field(ge=0)]] | None = None
    ignore_eos: bool | None = None

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=-1)] | None = None
    min_p: Annotated[float, Field(ge=0, lt=1)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    repetition_penalty: Annotated[float, Field(gt=0, le=10)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    logit_bias: dict[str, Annotated[float, Field(ge=-100, le=100)]] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    logprobs_of: OneOf["choice", "model"] | None = None

    reasoning_effort: OneOf["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = (
        None
    )
    chat_template_kwargs: dict[str, object] | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    modalities: list[OneOf["text"]] | None = None
    moderation: None = None

    user: str | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, object] | None = None
    prompt_cache_retention: str | None = None
    prediction: dict[str, object] | None = None
    verbosity: OneOf["low", "medium", "high"] | None = None
