"""Which fields of a chat request are honoured, taken without effect, or refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.wire.chat_request import ChatCompletionRequest, ignored_options
from server.wire.parsing import parse_request
from server.wire.thinking_budget import OTHER_BUDGET_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

IGNORED_FIELDS = (
    "user",
    "metadata",
    "store",
    "safety_identifier",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "prediction",
)
"""Taken without effect, and named in the header `x-tightrope-ignored`."""

REFUSED_FIELDS = {
    "audio": "the served models answer with text; remove it",
    "web_search_options": "this server does not search; remove it",
    "moderation": "this server does not moderate; remove it",
    "chat_template": "templates come from the model alone; remove it",
    "documents": "put them into the messages",
    "guided_decoding_backend": "the server chooses the backend; remove it",
    "guided_whitespace_pattern": "whitespace is bounded by the server; remove it",
    "structural_tag": "use structured_outputs.structural_tag",
    "bad_words": "use logit_bias",
    "allowed_token_ids": "use structured_outputs",
    "use_beam_search": "remove it",
    "best_of": "use n",
    "echo": "remove it",
    "prompt": "use messages",
    "length_penalty": "remove it",
    "prompt_logprobs": "remove it",
    "truncate_prompt_tokens": "shorten the messages",
    **OTHER_BUDGET_NAMES,
}
"""Fields of OpenAI's API or of other servers whose silent loss would change the answer."""


@dataclass(frozen=True, slots=True)
class ParsedChatRequest:
    """A typed request, and the names of what will have no effect.

    Args:
        request: the typed body.
        ignored: known fields without effect here.
        unknown: fields that no type declares.
    """

    request: ChatCompletionRequest
    ignored: tuple[str, ...]
    unknown: tuple[str, ...]


def parse_chat_request(
    body: Mapping[str, object], *, strict_params: bool = False
) -> ParsedChatRequest:
    """Type a parsed body.

    Raises:
        UnsupportedParameterError: a field of `REFUSED_FIELDS` is set.
        UnknownParameterError: an unknown field, with `strict_params`.
        RequestError: a field is missing or has a wrong value; `param` is its path.
    """
    request, unknown = parse_request(
        ChatCompletionRequest, body, REFUSED_FIELDS, strict_params=strict_params
    )
    ignored = [name for name in IGNORED_FIELDS if getattr(request, name) is not None]
    ignored += ignored_options(request.stream_options)
    return ParsedChatRequest(request, tuple(ignored), unknown)
