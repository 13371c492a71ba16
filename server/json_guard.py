"""Reading a request body as JSON, strictly: RFC 8259 and nothing that Python adds to it."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, TypeVar

from server.errors import MalformedBodyError

if TYPE_CHECKING:
    from collections.abc import Callable

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


NumberT = TypeVar("NumberT", int, float)


class _DuplicateKeyError(Exception):
    """The key that an object holds twice."""


class _LongNumberError(Exception):
    """A number has more characters than allowed; it was not read."""


def parse_json_object(
    body: bytes, *, max_depth: int, max_number_chars: int = 1_000
) -> dict[str, object]:
    """Parse a body that must be one JSON object; key order is kept.

    Refused: other encodings than UTF-8, NaN and infinities (also by overflow, as 1e400), duplicate
    keys, lone surrogates, nesting deeper than `max_depth`, numbers longer than `max_number_chars`.

    Raises:
        MalformedBodyError: with the path of the offending value where there is one.
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_unique_keys,
            parse_constant=float,
            parse_int=_bounded(int, max_number_chars),
            parse_float=_bounded(float, max_number_chars),
        )
    except UnicodeDecodeError as error:
        raise MalformedBodyError(f"The body is not UTF-8: byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise MalformedBodyError(
            f"The body is not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        ) from error
    except _DuplicateKeyError as error:
        raise MalformedBodyError(f"The body has an object with the key {error} twice") from error
    except RecursionError as error:
        raise _too_deep(max_depth) from error
    except _LongNumberError as error:
        raise MalformedBodyError(
            f"The body has a number of more than max_number_chars={max_number_chars} characters"
        ) from error
    if not isinstance(value, dict):
        raise MalformedBodyError("The body is JSON, but not an object: send {...}")
    _check(value, max_depth=max_depth, has_surrogates=_SURROGATE_ESCAPE.search(body) is not None)
    return value


def _bounded(read: Callable[[str], NumberT], max_chars: int) -> Callable[[str], NumberT]:
    def read_bounded(text: str) -> NumberT:
        if len(text) > max_chars:
            raise _LongNumberError
        return read(text)

    return read_bounded


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKeyError(ascii(key[:100]))
            seen.add(key)
    return value


def _check(root: dict[str, object], *, max_depth: int, has_surrogates: bool) -> None:
    """Walk the value once, without recursion: depth, finite numbers, whole characters."""
    todo: list[tuple[object, str, int]] = [(root, "", 1)]
    while todo:
        value, path, depth = todo.pop()
        if isinstance(value, dict | list):
            if depth > max_depth:
                raise _too_deep(max_depth)
            if isinstance(value, dict):
                if has_surrogates:
                    for key in value:
                        _check_text(key, path)
                todo.extend(
                    (item, f"{path}.{key}" if path else key, depth + 1)
                    for key, item in value.items()
                    if not isinstance(item, int) and item is not None
                )
            else:
                todo.extend(
                    (item, f"{path}[{index}]", depth + 1)
                    for index, item in enumerate(value)
                    if not isinstance(item, int) and item is not None
                )
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise MalformedBodyError(
                    f"{path}: NaN, infinities and numbers beyond a double are not JSON", param=path
                )
        elif has_surrogates and isinstance(value, str):
            _check_text(value, path)


def _check_text(text: str, path: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedBodyError(
            f"{path}: a \\u escape of a lone surrogate is no character", param=path or None
        ) from error


def _too_deep(max_depth: int) -> MalformedBodyError:
    return MalformedBodyError(
        f"The body nests arrays and objects deeper than max_json_depth={max_depth}"
    )
