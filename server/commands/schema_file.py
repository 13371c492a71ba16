"""Grammars in files that the command line names."""

from __future__ import annotations

import json
import sys
from pathlib import Path, PurePath

from grammars.spec import Cfg, JsonSchema, Regex
from server.errors import ServerError


def read_schema(name: str) -> str:
    """The text of a schema file.

    Args:
        name: a path, or "-" for standard input. A byte order mark is taken off.

    Raises:
        OSError: the file cannot be read.
        ServerError: it is not UTF-8.
    """
    content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ServerError(f"{name}: byte {error.start} is not UTF-8, as JSON must be") from error


def read_spec(name: str) -> JsonSchema | Regex | Cfg:
    """What a file asks for: .gbnf, .lark and .regex by their suffix, any other a JSON Schema.

    A line break at the end of a .regex file is not part of the pattern.

    Raises:
        OSError: the file cannot be read.
        ServerError: it is not UTF-8; or what should be a schema is not JSON, or has a key twice.
    """
    text = read_schema(name)
    match PurePath(name).suffix:
        case ".gbnf":
            return Cfg("gbnf", text)
        case ".lark":
            return Cfg("lark", text)
        case ".regex":
            return Regex(text.removesuffix("\n").removesuffix("\r"))
        case _:
            _check_json(name, text)
            return JsonSchema(text)


def _check_json(name: str, text: str) -> None:
    try:
        json.loads(text, object_pairs_hook=_check_keys, parse_constant=_refuse_constant)
    except ValueError as error:
        raise ServerError(f"{name}: not JSON: {error}") from error


def _check_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose keys differ: of two equal ones the first would be lost in silence."""
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object has the key {twice!r} twice")
    return value


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")
