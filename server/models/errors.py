"""Errors of finding a model and making it an ordinary Hugging Face folder.

ServerError
└── ModelError
    ├── UnknownModelError       no built-in, hub id, folder or .gguf file goes by the name
    ├── DownloadError           the bytes could not be fetched; says what to do instead
    ├── ChecksumError           the bytes that came are not the bytes that are pinned
    ├── InvalidModelFileError   a file is damaged or not of its format
    ├── CacheError              the cache folder cannot be written
    └── UnsupportedModelError   well formed, but something in it is not converted
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.errors import ServerError

if TYPE_CHECKING:
    from pathlib import Path


class ModelError(ServerError):
    """Base of everything that server/models raises on purpose."""


class UnknownModelError(ModelError):
    """No model goes by this name.

    Args:
        name: what was asked for.
        reason: what was looked for and the way out, one sentence.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"model {name!r}: {reason}")


class DownloadError(ModelError):
    """A download failed.

    Args:
        what: the package or hub id.
        reason: what happened and the way out.
    """

    def __init__(self, what: str, reason: str) -> None:
        self.what = what
        self.reason = reason
        super().__init__(f"cannot download {what}: {reason}")


class ChecksumError(ModelError):
    """A file's SHA-256 is not the pinned one, so its content is not trusted.

    Args:
        what: the file.
        expected: hex digest that is pinned.
        actual: hex digest of what came.
    """

    def __init__(self, what: str, expected: str, actual: str) -> None:
        self.what = what
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"{what} has sha256 {actual}, but {expected} is pinned; it was changed or damaged on "
            "the way and is not used"
        )


class InvalidModelFileError(ModelError):
    """A model file is damaged, cut off or not of its format.

    Args:
        path: the file or folder.
        reason: what is wrong with it.
    """

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


class CacheError(ModelError):
    """The cache cannot be written.

    Args:
        folder: where it should be.
        reason: what the system said.
    """

    def __init__(self, folder: Path, reason: str) -> None:
        self.folder = folder
        self.reason = reason
        super().__init__(
            f"cannot write the cache folder {folder} ({reason}); set TIGHTROPE_CACHE to another "
            "folder"
        )


class UnsupportedModelError(ModelError):
    """The model asks for something that we do not honour, so it is refused by name.

    Args:
        what: architecture, tensor, metadata key or tokenizer kind, as the file spells it.
        reason: what is supported instead, one sentence.
    """

    def __init__(self, what: str, reason: str) -> None:
        self.what = what
        self.reason = reason
        super().__init__(f"{what} is not supported: {reason}")
