"""What is known of the caller of a request."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.requests import Request

_KEY_HEADERS: Final = ("authorization", "x-api-key")


def cache_salt(request: Request) -> bytes:
    """The salt of a caller's cached prompts: callers with different keys share none.

    So nobody can find out, by how long an answer takes, what another caller has sent. Callers take
    turns by it too: so where keys are set it is of the key that was let in (`server.gate`), and
    nothing else that a client sends makes it another caller.
    """
    digest = getattr(request.state, "key_digest", None)
    if digest is None:
        keys = "\n".join(request.headers.get(name, "") for name in _KEY_HEADERS)
        digest = hashlib.sha256(keys.encode()).digest()
    return hashlib.sha256(b"caller" + digest).digest()
