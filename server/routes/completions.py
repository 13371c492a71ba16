"""POST /v1/completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request, Response

from server.answer.completions.run import (
    CompletionRun,
    streamed_completion,
    whole_completion,
)
from server.answer.headers import chat_headers
from server.answer.ids import answer_head
from server.body import read_body
from server.caller import cache_salt
from server.completions import NAMES, admit_completions
from server.disconnect import EventStreamResponse, unless_disconnected
from server.errors import RequestError
from server.reply.spelling import Spellings
from server.request_errors import renamed
from server.wire.completions import parse_completion_request

if TYPE_CHECKING:
    from server.services import Services


def completions_routes(services: Services) -> APIRouter:
    """The route over these services."""
    router = APIRouter()
    config = services.config
    spellings = Spellings(services.vocabulary)

    @router.post("/v1/completions", response_model=None)
    async def create_completion(request: Request) -> Response:
        asked, unknown = await read_body(
            request, config, lambda body: parse_completion_request(body, config)
        )
        admitted = await unless_disconnected(
            request.receive,
            admit_completions(asked, unknown, services, spellings, cache_salt=cache_salt(request)),
        )
        try:
            run = CompletionRun(admitted, services, spellings)
        except RequestError as error:
            raise renamed(error, NAMES) from error
        head = answer_head(services.model, prefix="cmpl-")
        headers = chat_headers(admitted[0].chat, NAMES)
        if asked.stream:
            options = asked.stream_options
            with_usage = options is not None and bool(options.include_usage)
            events = streamed_completion(run, head, with_usage=with_usage)
            return EventStreamResponse(events, headers, config.keep_alive_s)
        answer = await unless_disconnected(request.receive, whole_completion(run, head))
        return Response(msgspec.json.encode(answer), headers=headers, media_type="application/json")

    return router
