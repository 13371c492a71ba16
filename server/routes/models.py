"""GET /v1/models and /v1/models/{id}."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from server.admission import check_model

if TYPE_CHECKING:
    from server.services import ServedModel, Services


def model_routes(services: Services) -> APIRouter:
    """The routes over these services."""
    router = APIRouter()
    model = services.model

    @router.get("/v1/models")
    async def list_models() -> dict[str, object]:
        """The served names; of the aliases those that stand for one name alone."""
        aliases = [alias for alias in model.aliases if "*" not in alias]
        return {"object": "list", "data": [_body(name, model) for name in [*model.names, *aliases]]}

    @router.get("/v1/models/{name:path}")
    async def get_model(name: str) -> dict[str, object]:
        """One of them; without a name, behind the slash, all."""
        if not name:
            return await list_models()
        check_model(name, services)
        return _body(name, model)

    return router


def _body(name: str, model: ServedModel) -> dict[str, object]:
    return {
        "id": name,
        "object": "model",
        "created": model.created,
        "owned_by": "tightrope",
        "max_model_len": model.max_model_len,
    }
