"""way_out: what to ask instead of a path at which nothing is served."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

_API: Final = "/v1"
_EMBEDDINGS: Final = "this server generates text; use a server of embedding models"
_ONE_MODEL: Final = "the model is chosen when the server starts: tightrope serve MODEL"
_ELSEWHERE: Final = MappingProxyType(
    {
        "/v1/embeddings": _EMBEDDINGS,
        "/api/embed": _EMBEDDINGS,
        "/api/embeddings": _EMBEDDINGS,
        "/api/pull": _ONE_MODEL,
        "/api/create": _ONE_MODEL,
        "/api/copy": _ONE_MODEL,
        "/api/delete": _ONE_MODEL,
    }
)


def way_out(path: str, served: Collection[str]) -> str:
    """What helps whoever asked for a path: most have a base URL with too much or too little in it.

    Args:
        path: at which nothing is served.
        served: the paths that are.
    """
    if path in _ELSEWHERE:
        return _ELSEWHERE[path]
    bare = path.rstrip("/")
    shorter = bare.removeprefix(_API)
    if f"{_API}{bare}" in served:
        return f"the base URL ends with {_API}; use {_API}{bare}"
    if shorter in served and shorter.startswith(_API):
        return f"this client puts {_API} behind the base URL itself; use {shorter}"
    for other in (bare, shorter):
        if other in served:
            return f"use {other}"
    return f"the API is under {_API}, its models under {_API}/models"
