"""POST /tokenize and /detokenize, in vLLM's shapes; nothing is generated."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request

from server.admission import check_model
from server.body import read_json_object
from server.errors import UnsupportedValueError
from server.reply.spelling import Spellings
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
    async def tokenize(request: Request) -> dict[str, object]:
        body = await read_json_object(request, services.config)
        if "messages" in body:
            token_ids, with_texts = await _tokens_of_chat(body, services)
        else:
            token_ids, with_texts = await _tokens_of_text(body, services)
        return {
            "count": len(token_ids),
            "max_model_len": services.model.max_model_len,
            "tokens": token_ids,
            "token_strs": [spellings.name_of(token) for token in token_ids] if with_texts else None,
        }

    @router.post("/detokenize")
    async def detokenize(request: Request) -> dict[str, str]:
        body = await read_json_object(request, services.config)
        strict_params = services.config.strict_params
        asked, _ = parse_request(DetokenizeRequest, body, {}, strict_params=strict_params)
        check_model(asked.model or services.model.names[0], services)
        for token_id in asked.tokens:
            check_token_id("tokens", token_id, services.vocabulary)
        return {"prompt": spellings.text_of(asked.tokens)}

    return router


async def _tokens_of_text(
    body: Mapping[str, object], services: Services
) -> tuple[Sequence[int], bool]:
    """The tokens of the text, however long it is; and whether their texts are asked for."""
    strict_params = services.config.strict_params
    asked, _ = parse_request(TokenizeRequest, body, {}, strict_params=strict_params)
    check_model(asked.model or services.model.names[0], services)
    token_ids = await asyncio.to_thread(
        services.prompts.encode_text,
        asked.prompt,
        add_special_tokens=asked.add_special_tokens is not False,
    )
    return token_ids, bool(asked.return_token_strs)


async def _tokens_of_chat(
    body: Mapping[str, object], services: Services
) -> tuple[Sequence[int], bool]:
    """The tokens of the prompt that the chat would have; and whether their texts are asked for."""
    given = {name: body[name] for name in CHAT_EXTRAS if name in body}
    extras, _ = parse_request(TokenizeExtras, given, {}, strict_params=False)
    if extras.add_special_tokens:
        raise UnsupportedValueError(
            "add_special_tokens", "the chat template writes special tokens itself; remove it"
        )
    chat = {"model": services.model.names[0]} | {
        name: value for name, value in body.items() if name not in CHAT_EXTRAS
    }
    request = parse_chat_request(chat, strict_params=services.config.strict_params).request
    check_model(request.model, services)
    check_chat_request(request, services.config)
    prompt = await asyncio.to_thread(services.prompts.build, request)
    return prompt.token_ids, bool(extras.return_token_strs)
