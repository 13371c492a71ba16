"""ModelCache: converted models on disk, each a folder that is either whole or not there."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from server.models.checksum import sha256_of
from server.models.errors import CacheError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_MANIFEST: Final = "tightrope.json"
_MAX_HASHED_BYTES: Final = 16 * 1024**2


def cache_root(environment: Mapping[str, str]) -> Path:
    """Where Tightrope keeps what it can make again.

    TIGHTROPE_CACHE, else `tightrope` in XDG_CACHE_HOME (XDG Base Directory Specification: only an
    absolute path counts), else `~/.cache/tightrope`.
    """
    if own := environment.get("TIGHTROPE_CACHE"):
        return Path(own).expanduser().absolute()
    xdg = Path(environment.get("XDG_CACHE_HOME", ""))
    base = xdg if xdg.is_absolute() else Path.home() / ".cache"
    return base / "tightrope"


class ModelCache:
    """Model folders under `root/models`, one for each name.

    A folder is made beside its place and renamed into it, so readers never see half of one. A
    manifest inside says what it was made from and what belongs to it; a folder that does not agree
    with its manifest (other source, missing or cut files, changed small files) is made anew.
    Weights are compared by size only, since hashing gigabytes at every start would cost more than
    it finds.

    Args:
        root: see `cache_root`; created when first needed.
    """

    def __init__(self, root: Path) -> None:
        self.models_folder = root / "models"

    def get_or_build(
        self, name: str, fingerprint: str, build: Callable[[Path, Path], None]
    ) -> Path:
        """The folder of `name`, built first if it is not there as it should be.

        Processes that ask for the same name at the same time wait for the one that builds.

        Args:
            name: folder name, safe for the file system.
            fingerprint: of everything that the content depends on.
            build: fills its first argument, an empty folder; the second is an empty scratch folder
                that is removed afterwards.

        Raises:
            CacheError: the cache folder cannot be written, or its disk is full.
        """
        place = self.models_folder / name
        if _is_whole(place, fingerprint):
            return place
        with self._lock(name):
            if not _is_whole(place, fingerprint):
                self._build(name, fingerprint, build)
        return place

    def names(self) -> list[str]:
        """The names of the cached models, sorted."""
        return sorted(
            manifest.parent.name for manifest in self.models_folder.glob(f"[!.]*/{_MANIFEST}")
        )

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        try:
            self.models_folder.mkdir(parents=True, exist_ok=True)
            file = (self.models_folder / f".{name}.lock").open("w")
        except OSError as error:
            raise CacheError(self.models_folder, error.strerror or str(error)) from error
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)  # freed when the file is closed
            yield

    def _build(self, name: str, fingerprint: str, build: Callable[[Path, Path], None]) -> None:
        """Under the lock."""
        prefix = f".building-{name}-"
        for leftover in self.models_folder.glob(f"{prefix}*"):  # of a process that was killed
            shutil.rmtree(leftover)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=self.models_folder) as temporary:
            folder, scratch = Path(temporary, "model"), Path(temporary, "scratch")
            folder.mkdir()
            scratch.mkdir()
            try:
                build(folder, scratch)
                _write_manifest(folder, fingerprint)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise CacheError(self.models_folder, os.strerror(errno.ENOSPC)) from error
            place = self.models_folder / name
            if place.exists():
                place.rename(Path(temporary, "replaced"))
            folder.rename(place)


def _write_manifest(folder: Path, fingerprint: str) -> None:
    files = {path.name: _describe(path) for path in sorted(folder.iterdir())}
    manifest = {"fingerprint": fingerprint, "files": files}
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")


def _describe(path: Path) -> dict[str, object]:
    num_bytes = path.stat().st_size
    if num_bytes > _MAX_HASHED_BYTES:
        return {"bytes": num_bytes}
    return {"bytes": num_bytes, "sha256": sha256_of(path)}


def _is_whole(folder: Path, fingerprint: str) -> bool:
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return bool(manifest["fingerprint"] == fingerprint) and all(
            _describe(folder / name) == described for name, described in manifest["files"].items()
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False  # no manifest, a damaged one, or a missing file
