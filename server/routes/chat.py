"""POST /v1/chat/completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request, Response

from server.admission import admit_chat
from server.answer.headers import chat_headers
from server.answer.ids import answer_head
from server.answer.stream import streamed_answer
from server.answer.whole import whole_answer
from server.body import read_json_object
from server.caller import cache_salt
from server.disconnect import EventStreamResponse, unless_disconnected
from server.generation import Generation

if TYPE_CHECKING:
    from server.services import Services


def chat_routes(services: Services) -> APIRouter:
    """The route over these services."""
    router = APIRouter()

    @router.post("/v1/chat/completions", response_model=None)
    async def create_chat_completion(request: Request) -> Response:
        body = await read_json_object(request, services.config)
        chat = await unless_disconnected(
            request.receive, admit_chat(body, services, cache_salt=cache_salt(request))
        )
        generation = Generation(chat, services)
        head = answer_head(services.model, prefix="chatcmpl-")
        headers = chat_headers(chat, {})
        if chat.request.stream:
            chunks = streamed_answer(generation, chat, head, services.vocabulary)
            return EventStreamResponse(chunks, headers, services.config.keep_alive_s)
        answer = await unless_disconnected(
            request.receive, whole_answer(generation, chat, head, services.vocabulary)
        )
        return Response(msgspec.json.encode(answer), headers=headers, media_type="application/json")

    return router
