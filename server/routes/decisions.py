"""POST /v1/decisions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request, Response

from server.answer.decisions import decisions_body
from server.answer.headers import effect_headers
from server.body import read_body
from server.caller import cache_salt
from server.decisions.decide import decide
from server.disconnect import unless_disconnected
from server.wire.decisions import parse_decisions_request

if TYPE_CHECKING:
    from server.services import Services


def decisions_routes(services: Services) -> APIRouter:
    """The route over these services."""
    router = APIRouter()
    config = services.config
    parse = partial(parse_decisions_request, strict_params=config.strict_params)

    @router.post("/v1/decisions")
    async def create_decision(request: Request) -> Response:
        asked, ignored, unknown = await read_body(request, config, parse)
        decisions = await unless_disconnected(
            request.receive, decide(asked, services, cache_salt=cache_salt(request))
        )
        answer = decisions_body(services.model.names[0], asked, decisions)
        return Response(
            msgspec.json.encode(answer),
            headers=effect_headers(ignored, unknown),
            media_type="application/json",
        )

    return router
