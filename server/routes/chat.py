"""POST /v1/chat/completions."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Request, Response

from server.admission import admit_chat
from server.answer.ids import answer_head
from server.answer.stream import streamed_answer
from server.answer.whole import whole_answer
from server.body import read_json_object
from server.caller import cache_salt
from server.disconnect import EventStreamResponse, unless_disconnected
from server.generation import Generation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.admission import AdmittedChat
    from server.services import Services

_MAX_NAMED = 20


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
        head = answer_head(services.model)
        headers = _headers(chat)
        if chat.request.stream:
            chunks = streamed_answer(generation, chat, head, services.vocabulary)
            return EventStreamResponse(chunks, headers, services.config.keep_alive_s)
        answer = await unless_disconnected(
            request.receive, whole_answer(generation, chat, head, services.vocabulary)
        )
        return Response(msgspec.json.encode(answer), headers=headers, media_type="application/json")

    return router


def _headers(chat: AdmittedChat) -> dict[str, str]:
    """What had no effect is named: known fields as ignored, others as unknown."""
    headers = {}
    if chat.ignored:
        headers["x-tightrope-ignored"] = _names(chat.ignored)
    if chat.unknown:
        headers["x-tightrope-unknown"] = _names(chat.unknown)
    return headers


def _names(names: Sequence[str]) -> str:
    shown = [quote(name[:64], safe="[]._-") for name in names[:_MAX_NAMED]]
    rest = [f"and {len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join(shown + rest)
