"""POST /api/chat, /api/generate, /api/show, GET /api/tags, /api/ps and /api/version: Ollama's."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from fastapi import APIRouter, Request, Response

from server.admission import admit, check_model
from server.answer.headers import effect_headers, translated_headers
from server.answer.ollama.bodies import AnswerKind, Clock, PartWriter
from server.answer.ollama.models import model_body, running_body, show_body
from server.answer.ollama.pieces import Piece
from server.answer.ollama.run import OllamaRun, line
from server.body import read_body
from server.caller import cache_salt
from server.disconnect import EventStreamResponse, unless_disconnected
from server.errors import RequestError
from server.generation import Generation
from server.request_errors import MissingFieldError
from server.wire.ollama.as_chat import as_chat
from server.wire.ollama.request import (
    ChatRequest,
    GenerateRequest,
    RequestT,
    ShowRequest,
    model_name,
    parse_ollama_request,
)
from server.wire.policy import ParsedChatRequest

if TYPE_CHECKING:
    from server.admitted_chat import AdmittedChat
    from server.services import Services
    from server.wire.translation import Translation

_LINES: Final = "application/x-ndjson"
_OLLAMA_VERSION: Final = "0.12.11"
"""The release whose API this is; its clients ask for it, and some refuse older ones than theirs."""


def ollama_routes(services: Services) -> APIRouter:
    """The routes over these services."""
    router = APIRouter()
    model = services.model

    @router.post("/api/chat", response_model=None)
    async def chat(request: Request) -> Response:
        return await _answer(request, ChatRequest, AnswerKind.CHAT, services)

    @router.post("/api/generate", response_model=None)
    async def generate(request: Request) -> Response:
        return await _answer(request, GenerateRequest, AnswerKind.GENERATE, services)

    @router.post("/api/show")
    async def show(request: Request, answer: Response) -> dict[str, object]:
        asked, unknown = await _read(request, ShowRequest, services)
        name = asked.model or asked.name
        if not name:
            raise MissingFieldError("model")
        check_model(model_name(name), services)
        ignored = () if asked.verbose is None else ("verbose",)
        answer.headers.update(effect_headers(ignored, unknown))
        prompts = services.prompts
        return show_body(model, prompts.template_source, may_think=prompts.may_think)

    @router.get("/api/tags")
    async def tags() -> dict[str, object]:
        return {"models": [model_body(name, model) for name in model.names]}

    @router.get("/api/ps")
    async def loaded_models() -> dict[str, object]:
        return {"models": [running_body(name, model) for name in model.names]}

    @router.get("/api/version")
    async def version() -> dict[str, str]:
        return {"version": _OLLAMA_VERSION}

    return router


async def _read(
    request: Request, kind: type[RequestT], services: Services
) -> tuple[RequestT, tuple[str, ...]]:
    """The typed body, and the paths of its fields that nobody knows."""
    config = services.config
    parse = partial(parse_ollama_request, kind, strict_params=config.strict_params)
    return await read_body(request, config, parse, type_may_lack=True)


async def _answer(
    request: Request,
    kind: type[ChatRequest | GenerateRequest],
    answer_kind: AnswerKind,
    services: Services,
) -> Response:
    clock = Clock()
    asked, unknown = await _read(request, kind, services)
    writer = PartWriter(services.model.names[0], answer_kind)
    if not asked.has_prompt:
        return _loaded(asked.model, writer, services)
    translation = await asyncio.to_thread(as_chat, asked, unknown)
    try:
        chat = await unless_disconnected(
            request.receive, _admit(asked, translation, services, cache_salt(request))
        )
        generation = Generation(chat, services)
    except RequestError as error:
        raise translation.refusal(error) from error
    clock.start()
    run = OllamaRun(generation, writer, clock, services.vocabulary)
    headers = translated_headers(translation, chat)
    if asked.is_streamed:
        return EventStreamResponse(
            run.lines(request.state.request_id),
            headers,
            services.config.keep_alive_s,
            keep_alive=line(writer.part(Piece())),
            media_type=_LINES,
        )
    body = await unless_disconnected(request.receive, run.whole())
    return Response(msgspec.json.encode(body), headers=headers, media_type="application/json")


def _loaded(name: str, writer: PartWriter, services: Services) -> Response:
    """The answer to a request without a prompt, which only asks for the model to be loaded."""
    check_model(model_name(name), services)
    body = writer.last(Piece(), "load", {})
    return Response(msgspec.json.encode(body), media_type="application/json")


async def _admit(
    asked: ChatRequest | GenerateRequest,
    translation: Translation,
    services: Services,
    caller: bytes,
) -> AdmittedChat:
    prompt = None
    if isinstance(asked, GenerateRequest) and asked.raw:
        check_model(translation.request.model, services)
        text = asked.prompt or ""
        prompt = await asyncio.to_thread(services.prompts.build_text, text, add_special_tokens=True)
    parsed = ParsedChatRequest(translation.request, (), ())
    return await admit(parsed, services, cache_salt=caller, prompt=prompt)
