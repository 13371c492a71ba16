"""SHA-256 of streams, with progress."""

from __future__ import annotations

import hashlib
from typing import IO, TYPE_CHECKING, Final

from server.models.errors import ChecksumError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHUNK_BYTES: Final = 1024 * 1024


def read_chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """The stream's content, in pieces of `CHUNK_BYTES`."""
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def sha256_of(path: Path) -> str:
    """The file's hex digest."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a file that is not the pinned one.

    Raises:
        ChecksumError: its digest is another.
    """
    actual = sha256_of(path)
    if actual != expected:
        raise ChecksumError(path.name, expected, actual)
