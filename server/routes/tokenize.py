"""POST /tokenize and /detokenize, in vLLM's shapes; nothing is generated."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from server.admission import check_model
from server.answer.headers import effect_headers
from server.body import read_json_object
from server.reply.spelling import Spellings
from server.request_errors import UnsupportedValueError
from server.sampling import check_token_id
from server.wire.checks import check_chat_request
from server.wire.parsing import parse_request
from server.wire.policy import parse_chat_request
from server.wire.tokenize import CHAT_EXTRAS, DetokenizeRequest, TokenizeExtras, TokenizeRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.services import Services


def tokenize_routes(services: Services) -> APIRouter:
    """The routes over these services."""
    router = APIRouter()
    spellings = Spellings(services.vocabulary)

    @router.post("/tokenize")
    async def tokenize(request: Request, answer: Response) -> dict[str, object]:
        body = await read_json_object(request, services.config)
        find = _tokens_of_chat if "messages" in body else _tokens_of_text
        found = await find(body, services)
        answer.headers.update(effect_headers(found.ignored, found.unknown))
        texts = map(spellings.name_of, found.token_ids) if found.with_texts else None
        return {
            "count": len(found.token_ids),
            "max_model_len": services.model.max_model_len,
            "tokens": found.token_ids,
            "token_strs": None if texts is None else list(texts),
        }

    @router.post("/detokenize")
    async def detokenize(request: Request, answer: Response) -> dict[str, str]:
        body = await read_json_object(request, services.config)
        strict_params = services.config.strict_params
        asked, unknown = parse_request(DetokenizeRequest, body, {}, strict_params=strict_params)
        check_model(asked.model or services.model.names[0], services)
        for token_id in asked.tokens:
            check_token_id("tokens", token_id, services.vocabulary)
        answer.headers.update(effect_headers((), unknown))
        return {"prompt": spellings.text_of(asked.tokens)}

    return router


@dataclass(frozen=True, slots=True)
class _FoundTokens:
    """What is told of a text.

    Args:
        token_ids: its tokens.
        with_texts: whether their texts are asked for.
        ignored: request fields without effect.
        unknown: request fields that nobody knows.
    """

    token_ids: Sequence[int]
    with_texts: bool
    ignored: tuple[str, ...]
    unknown: tuple[str, ...]


async def _tokens_of_text(body: Mapping[str, object], services: Services) -> _FoundTokens:
    """The tokens of the text, however long it is."""
    strict_params = services.config.strict_params
    asked, unknown = parse_request(TokenizeRequest, body, {}, strict_params=strict_params)
    check_model(asked.model or services.model.names[0], services)
    token_ids = await asyncio.to_thread(
        services.prompts.encode_text,
        asked.prompt,
        add_special_tokens=asked.add_special_tokens is not False,
    )
    return _FoundTokens(token_ids, bool(asked.return_token_strs), (), unknown)


async def _tokens_of_chat(body: Mapping[str, object], services: Services) -> _FoundTokens:
    """The tokens of the prompt that the chat would have."""
    given = {name: body[name] for name in CHAT_EXTRAS if name in body}
    extras, _ = parse_request(TokenizeExtras, given, {}, strict_params=False)
    if extras.add_special_tokens:
        raise UnsupportedValueError(
            "add_special_tokens", "the chat template writes special tokens itself; remove it"
        )
    chat = {"model": services.model.names[0]} | {
        name: value for name, value in body.items() if name not in CHAT_EXTRAS
    }
    parsed = parse_chat_request(chat, strict_params=services.config.strict_params)
    request = parsed.request
    check_model(request.model, services)
    check_chat_request(request, services.config)
    prompt = await asyncio.to_thread(services.prompts.build, request)
    return _FoundTokens(
        prompt.token_ids,
        bool(extras.return_token_strs),
        (*parsed.ignored, *prompt.ignored),
        parsed.unknown,
    )
