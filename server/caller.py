"""What is known of the caller of a request."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request

_KEY_HEADERS = ("authorization", "x-api-key")


def cache_salt(request: Request) -> bytes:
    """The salt of a caller's cached prompts: callers with different keys share none.

    So nobody can find out, by how long an answer takes, what another caller has sent.
    """
    keys = "\n".join(request.headers.get(name, "") for name in _KEY_HEADERS)
    return hashlib.sha256(keys.encode()).digest()
