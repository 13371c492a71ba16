"""POST /tokenize and /detokenize, in vLLM's shapes; nothing is generated."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request, Response

from server.admission import check_model
from server.answer.headers import effect_headers
from server.body import read_body
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
    async def tokenize(request: Request) -> Response:
        body = await read_body(request, services.config, lambda body: body)
        return await asyncio.to_thread(_tokenized, body, services, spellings)

    @router.post("/detokenize")
    async def detokenize(request: Request) -> Response:
        return await read_body(
            request, services.config, lambda body: _detokenized(body, services, spellings)
        )

    return router


def _tokenized(body: Mapping[str, object], services: Services, spellings: Spellings) -> Response:
    """The answer to /tokenize; slow for long texts, so not for the event loop."""
    find = _tokens_of_chat if "messages" in body else _tokens_of_text
    found = find(body, services)
    texts = map(spellings.name_of, found.token_ids) if found.with_texts else None
    counted = {
        "count": len(found.token_ids),
        "max_model_len": services.model.max_model_len,
        "tokens": found.token_ids,
        "token_strs": None if texts is None else list(texts),
    }
    return _answer(counted, effect_headers(found.ignored, found.unknown))


def _detokenized(body: Mapping[str, object], services: Services, spellings: Spellings) -> Response:
    """The answer to /detokenize."""
    strict_params = services.config.strict_params
    asked, unknown = parse_request(DetokenizeRequest, body, {}, strict_params=strict_params)
    check_model(asked.model or services.model.names[0], services)
    for token_id in asked.tokens:
        check_token_id("tokens", token_id, services.vocabulary)
    return _answer({"prompt": spellings.text_of(asked.tokens)}, effect_headers((), unknown))


def _answer(body: Mapping[str, object], headers: Mapping[str, str]) -> Response:
    return Response(msgspec.json.encode(body), headers=headers, media_type="application/json")


@dataclass(frozen=True, slots=True)
class _FoundTokens:
    """What is returned of a text.

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


def _tokens_of_text(body: Mapping[str, object], services: Services) -> _FoundTokens:
    """The tokens of the text, however long it is."""
    strict_params = services.config.strict_params
    asked, unknown = parse_request(TokenizeRequest, body, {}, strict_params=strict_params)
    check_model(asked.model or services.model.names[0], services)
    token_ids = services.prompts.encode_text(
        asked.prompt, add_special_tokens=asked.add_special_tokens is not False
    )
    return _FoundTokens(token_ids, bool(asked.return_token_strs), (), unknown)


def _tokens_of_chat(body: Mapping[str, object], services: Services) -> _FoundTokens:
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
    prompt = services.prompts.build(request)
    return _FoundTokens(
        prompt.token_ids,
        bool(extras.return_token_strs),
        (*parsed.ignored, *prompt.ignored),
        parsed.unknown,
    )
