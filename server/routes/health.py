"""GET /, /health, /ready, /version and /metrics."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from server.errors import UnavailableError

if TYPE_CHECKING:
    from server.services import Services


def health_routes(services: Services) -> APIRouter:
    """The routes over these services."""
    router = APIRouter()

    @router.get("/")
    async def greet() -> Response:
        """For browsers at the base URL, and for programs of Ollama, which ask for it first."""
        name = services.model.names[0]
        text = f"Tightrope serves {name}. The API is under /v1, its models under /v1/models.\n"
        return Response(text, media_type="text/plain")

    @router.get("/health")
    async def health() -> dict[str, str]:
        """The process answers; whether it can generate is /ready's to say."""
        return {"status": "ok"}

    @router.get("/ready")
    async def ready() -> dict[str, str]:
        if services.lifecycle.is_draining:
            raise UnavailableError("The server is shutting down")
        if not services.engine.is_alive:
            raise UnavailableError("The engine has stopped")
        return {"status": "ready"}

    @router.get("/version")
    async def show_version() -> dict[str, str]:
        return {"version": installed_version()}

    @router.get("/metrics")
    async def metrics() -> Response:
        text = services.metrics.render(services.engine.stats(), services.compiler.cache_stats())
        return Response(text, headers={"content-type": services.metrics.content_type})

    return router


def installed_version() -> str:
    """The version of the installed distribution, "unknown" in a bare source tree."""
    try:
        return version("tightrope")
    except PackageNotFoundError:
        return "unknown"
