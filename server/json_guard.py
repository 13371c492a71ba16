"""Reading JSON that came from outside, strictly: RFC 8259 and nothing that Python adds to it."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Final, TypeVar

from server.request_errors import MalformedBodyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_DEPTH: Final = 128
"""Nesting of arrays and objects in JSON that stands in a text, unless another limit is given."""

_MAX_NUMBER_CHARS: Final = 1_000
_MAX_VALUES: Final = 200_000
_CHARS_AT_A_TIME: Final = 2**18
"""Of a text that are looked at by one call, which keeps the interpreter from all other threads."""
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")

NumberT = TypeVar("NumberT", int, float)


class NotJsonError(Exception):
    """A text is no JSON that we take.

    Args:
        reason: what is wrong, as what the text does: "nests arrays deeper than 4".
        path: of the value that is to blame, as `a.b[1]`; then the reason speaks of that value.
    """

    def __init__(self, reason: str, *, path: str | None = None) -> None:
        self.reason = reason
        self.path = path
        super().__init__(reason)

    def sentence(self, text: str) -> str:
        """The reason as a sentence about a text that is called so."""
        if self.path is None:
            return f"{text} {self.reason}"
        return f"{self.path or text}: {self.reason}"


def parse_json_object(
    body: bytes,
    *,
    max_depth: int,
    max_number_chars: int = _MAX_NUMBER_CHARS,
    max_values: int = _MAX_VALUES,
) -> dict[str, object]:
    """Parse a body that must be one JSON object in UTF-8; see `parse_json`.

    Raises:
        MalformedBodyError: with the path of the offending value where there is one.
    """
    try:
        text = body.decode("utf-8")
        value = parse_json(
            text, max_depth=max_depth, max_number_chars=max_number_chars, max_values=max_values
        )
    except UnicodeDecodeError as error:
        raise MalformedBodyError(f"The body is not UTF-8: byte {error.start}") from error
    except NotJsonError as error:
        raise MalformedBodyError(error.sentence("The body"), param=error.path or None) from error
    if not isinstance(value, dict):
        raise MalformedBodyError("The body is JSON, but not an object: send {...}")
    return value


def parse_json(
    text: str,
    *,
    max_depth: int = MAX_DEPTH,
    max_number_chars: int = _MAX_NUMBER_CHARS,
    max_values: int = _MAX_VALUES,
) -> object:
    """Parse a text that came from outside; key order is kept.

    Refused: NaN and infinities (also by overflow, as 1e400), duplicate keys, lone surrogates,
    nesting deeper than `max_depth`, numbers longer than `max_number_chars`, and more than
    `max_values` values, of which arrays and objects count twice: each takes twenty times its bytes.

    Raises:
        NotJsonError: it is refused.
    """
    _check_count(text, max_values)
    try:
        value: object = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=float,
            parse_int=_bounded(int, max_number_chars),
            parse_float=_bounded(float, max_number_chars),
        )
    except json.JSONDecodeError as error:
        reason = f"is not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        raise NotJsonError(reason) from error
    except RecursionError as error:
        raise _too_deep(max_depth) from error
    _check(value, max_depth=max_depth, has_surrogates=_SURROGATE_ESCAPE.search(text) is not None)
    return value


def _check_count(text: str, max_values: int) -> None:
    """Before any is made; strings are told apart only where that could make a difference."""
    if _num_separators(text) > max_values and sum(_separators_by_parts(text)) > max_values:
        raise NotJsonError(f"has more than max_json_values={max_values} values")


def _separators_by_parts(text: str) -> Iterator[int]:
    """The separators outside of strings in each part of a JSON text."""
    is_in_string, begun_escape = False, ""
    for start in range(0, len(text), _CHARS_AT_A_TIME):
        part = begun_escape + text[start : start + _CHARS_AT_A_TIME]
        part = part.replace("\\\\", "")
        begun_escape = "\\" if part.endswith("\\") else ""
        pieces = part.replace('\\"', "").split('"')
        yield _num_separators("".join(pieces[is_in_string::2]))
        is_in_string ^= len(pieces) % 2 == 0


def _num_separators(text: str) -> int:
    return text.count(",") + text.count("[") + text.count("{")


def _bounded(read: Callable[[str], NumberT], max_chars: int) -> Callable[[str], NumberT]:
    def read_bounded(text: str) -> NumberT:
        if len(text) > max_chars:
            raise NotJsonError(f"has a number of more than max_number_chars={max_chars} characters")
        return read(text)

    return read_bounded


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotJsonError(f"has an object with the key {key[:100]!a} twice")
            seen.add(key)
    return value


def _check(root: object, *, max_depth: int, has_surrogates: bool) -> None:
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
                raise NotJsonError(
                    "NaN, infinities and numbers beyond a double are not JSON", path=path
                )
        elif has_surrogates and isinstance(value, str):
            _check_text(value, path)


def _check_text(text: str, path: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotJsonError("a \\u escape of a lone surrogate is no character", path=path) from error


def _too_deep(max_depth: int) -> NotJsonError:
    return NotJsonError(f"nests arrays and objects deeper than max_json_depth={max_depth}")
