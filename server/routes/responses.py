"""POST /v1/responses, and GET and DELETE of those that are stored."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request, Response

from server.admission import admit
from server.answer.headers import chat_headers
from server.answer.responses.body import ResponseHead
from server.answer.responses.run import streamed_response, whole_response
from server.answer.responses.writer import OutputWriter
from server.body import read_body
from server.caller import cache_salt
from server.disconnect import EventStreamResponse, unless_disconnected
from server.errors import RequestError
from server.generation import Generation
from server.request_errors import UnsupportedParameterError
from server.wire.policy import ParsedChatRequest
from server.wire.responses.as_chat import as_chat
from server.wire.responses.request import parse_responses_request

if TYPE_CHECKING:
    from server.answer.bodies import Json
    from server.response_store import ResponseStore
    from server.services import Services


def responses_routes(services: Services, store: ResponseStore) -> APIRouter:
    """The routes over these services; responses are kept in the store."""
    router = APIRouter()
    config = services.config
    parse = partial(parse_responses_request, strict_params=config.strict_params)

    @router.post("/v1/responses", response_model=None)
    async def create_response(request: Request) -> Response:
        asked, ignored, unknown = await read_body(request, config, parse)
        caller = cache_salt(request)
        history = store.history(caller, asked.previous_response_id)
        given = store.given_items(caller, asked)
        translated = await asyncio.to_thread(as_chat, asked, history, given)
        parsed = ParsedChatRequest(translated.request, ignored, unknown)
        try:
            chat = await unless_disconnected(
                request.receive, admit(parsed, services, cache_salt=caller)
            )
            generation = Generation(chat, services)
        except RequestError as error:
            raise translated.refusal(error) from error
        head = ResponseHead.new(services.model.names[0], asked)
        writer = OutputWriter(services.vocabulary)
        headers = chat_headers(chat, translated.names)

        def keep(answer: Json) -> None:
            if asked.store is not False:
                store.keep(caller, answer, [*history, *given])

        if asked.stream:
            events = streamed_response(generation, head, writer, keep)
            return EventStreamResponse(events, headers, config.keep_alive_s)
        answer = await unless_disconnected(
            request.receive, whole_response(generation, head, writer)
        )
        keep(answer)
        return Response(msgspec.json.encode(answer), headers=headers, media_type="application/json")

    @router.get("/v1/responses/{response_id}")
    async def get_response(request: Request, response_id: str) -> Response:
        if request.query_params.get("stream") == "true":
            raise UnsupportedParameterError("stream", "a stored response is whole; remove it")
        return Response(store.body(cache_salt(request), response_id), media_type="application/json")

    @router.delete("/v1/responses/{response_id}")
    async def delete_response(request: Request, response_id: str) -> dict[str, object]:
        store.forget(cache_salt(request), response_id)
        return {"id": response_id, "object": "response", "deleted": True}

    return router
