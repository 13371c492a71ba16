"""POST /v1/chat/completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request, Response

from server.admission import admit
from server.answer.headers import chat_headers
from server.answer.ids import answer_head
from server.answer.stream import streamed_answer
from server.answer.whole import whole_answer
from server.body import read_body
from server.caller import cache_salt
from server.disconnect import EventStreamResponse, unless_disconnected
from server.generation import Generation
from server.wire.checks import check_openai_names
from server.wire.policy import parse_chat_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.services import Services
    from server.wire.policy import ParsedChatRequest


def chat_routes(services: Services) -> APIRouter:
    """The route over these services."""
    router = APIRouter()

    def understood(body: Mapping[str, object]) -> ParsedChatRequest:
        parsed = parse_chat_request(body, strict_params=services.config.strict_params)
        check_openai_names(parsed.request)
        return parsed

    @router.post("/v1/chat/completions", response_model=None)
    async def create_chat_completion(request: Request) -> Response:
        parsed = await read_body(request, services.config, understood)
        chat = await unless_disconnected(
            request.receive, admit(parsed, services, cache_salt=cache_salt(request))
        )
        generation = Generation(chat, services)
        head = answer_head(
            services.model,
            prefix="chatcmpl-",
            reasoning_field=services.config.reasoning_field,
        )
        headers = chat_headers(chat, {})
        if chat.request.stream:
            chunks = streamed_answer(generation, chat, head, services.vocabulary)
            return EventStreamResponse(chunks, headers, services.config.keep_alive_s)
        answer = await unless_disconnected(
            request.receive, whole_answer(generation, chat, head, services.vocabulary)
        )
        return Response(msgspec.json.encode(answer), headers=headers, media_type="application/json")

    return router
