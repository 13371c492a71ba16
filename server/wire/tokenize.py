"""Bodies of /tokenize and /detokenize, in vLLM's shapes."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from server.wire.base import Items, WireModel

CHAT_EXTRAS: Final = ("add_special_tokens", "return_token_strs")
"""Fields of `/tokenize` that stand beside those of a chat request."""


class TokenizeRequest(WireModel):
    """A text whose tokens are asked for; a chat is given as `messages` instead."""

    model: str | None = None
    prompt: str
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = None


class TokenizeExtras(WireModel):
    """What `/tokenize` of a chat has beside the fields of a chat request."""

    add_special_tokens: bool | None = None
    return_token_strs: bool | None = None


class DetokenizeRequest(WireModel):
    """Tokens whose text is asked for."""

    model: str | None = None
    tokens: Items[Annotated[int, Field(ge=0)]]
