"""POST /v1/messages and /v1/messages/count_tokens: Anthropic's Messages API."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request, Response

from server.admission import admit, count_prompt_tokens
from server.answer.anthropic.bodies import MessageHead
from server.answer.anthropic.stream import PING, streamed_message
from server.answer.anthropic.whole import whole_message
from server.answer.headers import effect_headers, translated_headers
from server.body import read_body
from server.caller import cache_salt
from server.disconnect import EventStreamResponse, unless_disconnected
from server.errors import RequestError
from server.generation import Generation
from server.wire.anthropic.as_chat import as_chat
from server.wire.anthropic.request import (
    CountTokensRequest,
    MessagesRequest,
    parse_messages_request,
)
from server.wire.policy import ParsedChatRequest

if TYPE_CHECKING:
    from server.services import Services


def messages_routes(services: Services) -> APIRouter:
    """The routes over these services."""
    router = APIRouter()
    config = services.config
    parse = partial(parse_messages_request, strict_params=config.strict_params)

    @router.post("/v1/messages", response_model=None)
    async def create_message(request: Request) -> Response:
        asked, unknown = await read_body(request, config, partial(parse, MessagesRequest))
        translation = await asyncio.to_thread(as_chat, asked, unknown)
        parsed = ParsedChatRequest(translation.request, (), ())
        try:
            chat = await unless_disconnected(
                request.receive, admit(parsed, services, cache_salt=cache_salt(request))
            )
            generation = Generation(chat, services)
        except RequestError as error:
            raise translation.refusal(error) from error
        head = MessageHead.new(services.model.names[0])
        headers = translated_headers(translation, chat)
        if asked.stream:
            events = streamed_message(
                generation, head, request.state.request_id, max_tokens=asked.max_tokens
            )
            return EventStreamResponse(events, headers, config.keep_alive_s, keep_alive=PING)
        answer = await unless_disconnected(
            request.receive, whole_message(generation, head, max_tokens=asked.max_tokens)
        )
        return Response(msgspec.json.encode(answer), headers=headers, media_type="application/json")

    @router.post("/v1/messages/count_tokens", response_model=None)
    async def count_tokens(request: Request) -> Response:
        asked, unknown = await read_body(request, config, partial(parse, CountTokensRequest))
        translation = await asyncio.to_thread(as_chat, asked, unknown)
        try:
            num_tokens = await count_prompt_tokens(translation.request, services)
        except RequestError as error:
            raise translation.refusal(error) from error
        headers = effect_headers(translation.ignored, translation.unknown)
        counted = msgspec.json.encode({"input_tokens": num_tokens})
        return Response(counted, headers=headers, media_type="application/json")

    return router
