"""create_app: the FastAPI application over given services."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from server.cors import Cors
from server.error_answers import answer_of
from server.error_shapes import error_shape, shaped_error
from server.errors import MethodNotAllowedError, NotFoundError, RequestError, ServerError
from server.gate import Gate
from server.path_hints import way_out
from server.response_store import ResponseStore
from server.routes.chat import chat_routes
from server.routes.completions import completions_routes
from server.routes.decisions import decisions_routes
from server.routes.health import health_routes
from server.routes.messages import messages_routes
from server.routes.models import model_routes
from server.routes.ollama import ollama_routes
from server.routes.responses import responses_routes
from server.routes.tokenize import tokenize_routes

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from server.services import Services

Lifespan: TypeAlias = "Callable[[FastAPI], AbstractAsyncContextManager[None]]"


def create_app(services: Services, *, lifespan: Lifespan | None = None) -> FastAPI:
    """The application. Errors have the shape of the API whose path was asked.

    Args:
        services: what the routes work with.
        lifespan: entered before the first request and left after the last.
    """
    app = FastAPI(
        title="Tightrope",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    routers = (
        chat_routes(services),
        responses_routes(services, ResponseStore(services.config.response_store_bytes)),
        messages_routes(services),
        completions_routes(services),
        tokenize_routes(services),
        decisions_routes(services),
        model_routes(services),
        ollama_routes(services),
        health_routes(services),
    )
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    for route in routes:
        if route.methods == {"GET"}:
            route.methods = {"GET", "HEAD"}  # RFC 9110, section 9.1; uvicorn then sends no body
    for router in routers:
        app.include_router(router)
    app.state.served_paths = frozenset(route.path for route in routes)
    app.state.metrics = services.metrics
    app.add_exception_handler(ServerError, _answer_error)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_validation_error)
    app.add_middleware(
        Gate,
        config=services.config,
        metrics=services.metrics,
        lifecycle=services.lifecycle,
        tracing=services.tracing,
    )
    if services.config.cors_origins:
        app.add_middleware(Cors, origins=services.config.cors_origins)
    return app


async def _answer_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServerError)
    request.app.state.metrics.count_refusal(error)
    answer = answer_of(error)
    told = shaped_error(error, error_shape(request.url.path), request.state.request_id)
    return Response(
        msgspec.json.encode(told),
        status_code=answer.status,
        headers=dict(answer.headers),
        media_type="application/json",
    )


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """The framework's own 404 and 405."""
    assert isinstance(error, HTTPException)
    path = request.url.path[:200]
    if error.status_code == 405:
        methods = (error.headers or {}).get("Allow", "another method")
        allowed = ", ".join(sorted(methods.split(", ")))
        answer = await _answer_error(
            request, MethodNotAllowedError(f"{request.method} is not allowed here; use {allowed}")
        )
        answer.headers["allow"] = allowed
        return answer
    hint = way_out(path, request.app.state.served_paths)
    return await _answer_error(request, NotFoundError(f"Nothing is served at {path}; {hint}"))


async def _answer_validation_error(request: Request, _error: Exception) -> Response:
    return await _answer_error(request, RequestError("The path or query is not valid"))
