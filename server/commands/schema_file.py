"""read_schema: the text of a JSON Schema that the command line names."""

from __future__ import annotations

import sys
from pathlib import Path

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
