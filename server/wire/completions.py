"""CompletionRequest: the body of POST /v1/completions, text that is simply gone on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, cast

from pydantic import Field

from server.request_errors import InvalidValueError, UnsupportedValueError
from server.wire.base import Items
from server.wire.chat_request import ChatCompletionRequest, StreamOptions
from server.wire.formats import ResponseFormat
from server.wire.parsing import parse_request
from server.wire.sampling_fields import SamplingFields, sampling_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.config import ServerConfig

_DEFAULT_MAX_TOKENS: Final = 16
"""OpenAI's."""

REFUSED_FIELDS: Final = {
    "suffix": "the served models only go on; remove it",
    "messages": "use prompt, or /v1/chat/completions",
    "tools": "use /v1/chat/completions",
    "prompt_logprobs": "use echo and logprobs",
    "length_penalty": "remove it",
    "use_beam_search": "remove it",
    "truncate_prompt_tokens": "shorten the prompt",
    "bad_words": "use logit_bias",
    "allowed_token_ids": "use structured_outputs",
    "guided_decoding_backend": "the server chooses the backend; remove it",
    "guided_whitespace_pattern": "whitespace is bounded by the server; remove it",
    "prompt_embeds": "use prompt",
}
"""Fields whose silent loss would change the answer."""

TokenIds = Items[Annotated[int, Field(ge=0)]]


class CompletionRequest(SamplingFields):
    """A request for completions; null means absent."""

    model: str
    prompt: str | Items[str] | TokenIds | Items[TokenIds]
    add_special_tokens: bool | None = None
    echo: bool | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    n: Annotated[int, Field(ge=1)] | None = None
    best_of: int | None = None
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    response_format: ResponseFormat | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None

    @property
    def prompts(self) -> list[str | list[int]]:
        """Each prompt, as text or as token ids."""
        prompt = self.prompt
        if isinstance(prompt, str):
            return [prompt]
        if prompt and isinstance(prompt[0], int):
            return [prompt]
        return list(cast("list[str] | list[list[int]]", prompt))

    def as_chat(self) -> ChatCompletionRequest:
        """The chat request that asks for the same, but that its prompt is given."""
        return ChatCompletionRequest.model_validate(
            sampling_fields(self)
            | {
                "model": self.model,
                "messages": [],
                "n": self.n,
                "max_tokens": (
                    _DEFAULT_MAX_TOKENS if self.max_tokens is None else self.max_tokens or 1
                ),
                "logprobs": self.logprobs is not None,
                "top_logprobs": self.logprobs,
                "response_format": self.response_format,
                "stream": self.stream,
                "stream_options": self.stream_options,
                "user": self.user,
            }
        )


def parse_completion_request(
    body: Mapping[str, object], config: ServerConfig
) -> tuple[CompletionRequest, tuple[str, ...]]:
    """Type a parsed body.

    Returns:
        The request, and the names of the fields that no type declares.

    Raises:
        RequestError: a field is refused, missing, or has a wrong value; `param` is its path.
    """
    request, unknown = parse_request(
        CompletionRequest, body, REFUSED_FIELDS, strict_params=config.strict_params
    )
    if request.best_of not in (None, request.n or 1):
        raise UnsupportedValueError("best_of", "only the value of n is supported; use n alone")
    if request.max_tokens == 0 and not request.echo:
        raise InvalidValueError("max_tokens", "0 is only allowed with echo: true")
    num_prompts = len(request.prompts)
    if num_prompts == 0:
        raise InvalidValueError("prompt", "at least 1 is needed, got 0")
    num_choices = num_prompts * (request.n or 1)
    if num_choices > config.max_completions:
        raise InvalidValueError(
            "prompt",
            f"at most max_completions={config.max_completions} are given at once, but "
            f"{num_prompts} prompts with n={request.n or 1} ask for {num_choices}",
        )
    return request, unknown
