"""GET /v1/models and /v1/models/{id}."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from server.errors import ModelNotFoundError

if TYPE_CHECKING:
    from server.services import ServedModel, Services


def model_routes(services: Services) -> APIRouter:
    """The routes over these services."""
    router = APIRouter()
    model = services.model

    @router.get("/v1/models")
    async def list_models() -> dict[str, object]:
        return {"object": "list", "data": [_model_body(name, model) for name in model.names]}

    @router.get("/v1/models/{name:path}")
    async def get_model(name: str) -> dict[str, object]:
        if name not in model.names and not services.config.accept_any_model:
            raise ModelNotFoundError(name, model.names)
        return _model_body(name, model)

    return router


def _model_body(name: str, model: ServedModel) -> dict[str, object]:
    return {
        "id": name,
        "object": "model",
        "created": model.created,
        "owned_by": "tightrope",
        "max_model_len": model.max_model_len,
    }
