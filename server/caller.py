"""cache_salt: what tells the callers of requests apart."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.requests import Request

_KEY_HEADERS: Final = ("authorization", "x-api-key")


def cache_salt(request: Request) -> bytes:
    """The salt of a caller's cached prompts: callers with different keys share none.

    So nobody can find out, by how long an answer takes, what another caller has sent. Callers also
    take turns by their salts. Where keys are set it is made of the key that `server.gate` let in
    and of nothing else, so no client can pass for several callers.
    """
    digest = getattr(request.state, "key_digest", None)
    if digest is None:
        keys = "\n".join(request.headers.get(name, "") for name in _KEY_HEADERS)
        digest = hashlib.sha256(keys.encode()).digest()
    return hashlib.sha256(b"caller" + digest).digest()
