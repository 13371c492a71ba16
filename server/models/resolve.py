"""resolve_model: from what the user calls a model to an ordinary Hugging Face folder on disk."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from server.models.cache import ModelCache, cache_root
from server.models.catalog import BUILTIN_MODELS, BuiltinModel
from server.models.errors import InvalidModelFileError, UnknownModelError
from server.models.hub import HUB_ID, download_snapshot

if TYPE_CHECKING:
    from server.models.progress import Progress


class ModelSource(Enum):
    """Where a model came from."""

    BUILTIN = "built-in"
    HUB = "hub"
    FOLDER = "folder"
    GGUF = "gguf"


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model that can be loaded with plain `from_pretrained`.

    Args:
        path: holds config.json, safetensors weights and tokenizer.json.
        name: what clients call it.
        source: where it came from.
    """

    path: Path
    name: str
    source: ModelSource


def resolve_model(name: str, *, progress: Progress, cache: ModelCache | None = None) -> ModelFolder:
    """Find a model, fetching and converting it if needed.

    Args:
        name: a built-in name, a local folder, a `.gguf` file, or a hub id `owner/name[@revision]`;
            looked up in this order. Write `./name` for a folder that is called like a built-in.
        progress: told of every slow stage.
        cache: where converted models are kept; None: as the environment says, see `cache_root`.

    Raises:
        ModelError: the model is unknown, cannot be fetched, is damaged or is not supported.
    """
    cache = ModelCache(cache_root(os.environ)) if cache is None else cache
    if name in BUILTIN_MODELS:
        return _resolve_builtin(BUILTIN_MODELS[name], cache, progress)
    path = Path(name).expanduser()
    if path.is_dir():
        return _resolve_folder(path.resolve())
    if path.suffix == ".gguf" and path.is_file():
        return _resolve_gguf(path.resolve(), cache, progress)
    if HUB_ID.fullmatch(name):
        folder = download_snapshot(name)
        check_folder(folder)
        return ModelFolder(folder, name.partition("@")[0], ModelSource.HUB)
    raise UnknownModelError(name, _why_unknown(name, path))


def check_folder(folder: Path) -> None:
    """Check that a folder has what loading needs.

    Raises:
        InvalidModelFileError: a file is missing; the message says which.
    """
    for file_name in ("config.json", "tokenizer.json"):
        if not (folder / file_name).is_file():
            raise InvalidModelFileError(
                folder, f"no {file_name}; is this a Hugging Face model folder?"
            )
    if not any(folder.glob("*.safetensors")):
        raise InvalidModelFileError(
            folder,
            "no *.safetensors weights; other formats are not loaded because they can run code",
        )


def _resolve_builtin(model: BuiltinModel, cache: ModelCache, progress: Progress) -> ModelFolder:
    def build(folder: Path, scratch: Path) -> None:
        from server.models.convert import convert_gguf
        from server.models.download import fetch_gguf

        convert_gguf(fetch_gguf(model, scratch, progress=progress), folder, progress=progress)

    path = cache.get_or_build(model.name, _fingerprint(model.gguf_sha256), build)
    return ModelFolder(path, model.name, ModelSource.BUILTIN)


def _resolve_folder(path: Path) -> ModelFolder:
    check_folder(path)
    return ModelFolder(path, path.name, ModelSource.FOLDER)


def _resolve_gguf(path: Path, cache: ModelCache, progress: Progress) -> ModelFolder:
    def build(folder: Path, _scratch: Path) -> None:
        from server.models.convert import convert_gguf

        convert_gguf(path, folder, progress=progress)

    # Told by place, size and time: hashing many gigabytes at every start would be slow.
    status = path.stat()
    place_digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    readable = re.sub(r"[^\w.-]+", "-", path.stem)
    folder = cache.get_or_build(
        f"{readable}-{place_digest}",
        _fingerprint(str(path), status.st_size, status.st_mtime_ns),
        build,
    )
    return ModelFolder(folder, path.stem, ModelSource.GGUF)


def _fingerprint(*source: str | int) -> str:
    """Of a source and of the way it is converted."""
    from server.models.convert import CONVERTER_VERSION

    return hashlib.sha256(json.dumps([CONVERTER_VERSION, *source]).encode()).hexdigest()


def _why_unknown(name: str, path: Path) -> str:
    if path.is_file():
        return "this file is not a .gguf file; give a .gguf file or a Hugging Face model folder"
    if path.suffix == ".gguf":
        return "there is no such file"
    if name.startswith((".", "/", "~")):
        return "there is no such folder"
    close = difflib.get_close_matches(name, BUILTIN_MODELS, n=1)
    hint = f"did you mean {close[0]!r}? It is " if close else ""
    return (
        f"{hint}not a built-in name ({', '.join(BUILTIN_MODELS)}), not a folder or .gguf file "
        "here, and not a hub id (owner/name)"
    )
