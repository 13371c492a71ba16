"""Reading the body of a request within limits: media type, size counted on the wire, time."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from server.errors import BodyTimeoutError, BodyTooLargeError, MediaTypeError
from server.json_guard import parse_json_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from server.config import ServerConfig

INLINE_BYTES: Final = 32 * 1024
"""Bodies up to this size are read on the event loop: some milliseconds at most. Of 10 MiB it can be
a second and a half; larger ones are read in a thread."""

UnderstoodT = TypeVar("UnderstoodT")

_CURLS_OWN_TYPE = "application/x-www-form-urlencoded"


async def read_body(
    request: Request,
    config: ServerConfig,
    understand: Callable[[dict[str, object]], UnderstoodT],
    *,
    type_may_lack: bool = False,
) -> UnderstoodT:
    """Read the body of a request, and give it to a function that makes of it what is asked for.

    Args:
        request: its body has not been read yet.
        config: the limits.
        understand: called in another thread where the body is large.
        type_may_lack: take bodies without a type, and curl's own, as JSON too. Never from web
            pages, which would then need no one's leave to send them (Fetch standard, section 3.2).

    Raises:
        MediaTypeError: not application/json, or compressed.
        BodyTooLargeError: more than `max_body_bytes`, by Content-Length or by counting.
        OverloadedError: all bodies together take too much.
        BodyTimeoutError: not complete after `body_timeout_s`.
        MalformedBodyError: not one JSON object (see `parse_json_object`).
        ClientDisconnect: the client went away.
        ServerError: whatever `understand` raises.
    """
    _check_headers(request, type_may_lack=type_may_lack and "origin" not in request.headers)
    body = await _read_bytes(request, config)
    read = partial(_read, body, config, understand)
    return read() if len(body) <= INLINE_BYTES else await asyncio.to_thread(read)


def _read(
    body: bytes, config: ServerConfig, understand: Callable[[dict[str, object]], UnderstoodT]
) -> UnderstoodT:
    return understand(
        parse_json_object(
            body,
            max_depth=config.max_json_depth,
            max_number_chars=config.max_number_chars,
            max_values=config.max_json_values,
        )
    )


def _check_headers(request: Request, *, type_may_lack: bool) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_taken = type_may_lack and media_type in ("", _CURLS_OWN_TYPE)
    if media_type != "application/json" and not is_taken:
        raise MediaTypeError("Send the body as content-type: application/json")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise MediaTypeError("Compressed request bodies are not taken; send the JSON as it is")


async def _read_bytes(request: Request, config: ServerConfig) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > config.max_body_bytes:
        raise BodyTooLargeError(config.max_body_bytes)
    take_bytes: Callable[[int], None] = request.state.take_body_bytes  # of the gate
    body = bytearray()
    try:
        async with asyncio.timeout(config.body_timeout_s):
            async for chunk in request.stream():
                take_bytes(len(chunk))
                body += chunk
                if len(body) > config.max_body_bytes:
                    raise BodyTooLargeError(config.max_body_bytes)
    except TimeoutError as error:
        raise BodyTimeoutError(
            f"The request body did not arrive within body_timeout_s={config.body_timeout_s:g} s"
        ) from error
    return bytes(body)
