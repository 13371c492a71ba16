"""free_memory: how much memory this process may still take, by its system and control groups."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class _Version:
    """What a version of control groups calls its files, and bytes that the kernel would give back.

    Args:
        limit: the file with the most that a group may take.
        used: the file with what it takes.
        reclaimable: the line of `memory.stat` with what of that is a cache of files.
    """

    limit: str
    used: str
    reclaimable: str


_V1: Final = _Version("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2: Final = _Version("memory.max", "memory.current", "inactive_file")


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that may still be taken, with what the kernel would give back from its caches.

    A container has a limit of its own, far below what its machine has. Both count, and so do the
    limits of all control groups that it is inside of (versions 1 and 2; man cgroups, 7).

    Args:
        root: where `/proc` and `/sys` are.

    Returns:
        None where the system does not tell it in Linux's way.
    """
    return min([*_of_system(root), *_of_groups(root)], default=None)


def _of_system(root: Path) -> Iterator[int]:
    with suppress(OSError, LookupError, ValueError):
        yield _numbers(root / "proc/meminfo")["MemAvailable:"] * 1024


def _of_groups(root: Path) -> Iterator[int]:
    """What is left in each group that has a limit, from our own outwards."""
    with suppress(OSError, LookupError, ValueError):
        paths = _group_paths(root)
        for line in _lines(root / "proc/self/mountinfo"):
            mount, _, kind = line.partition(" - ")
            file_system, _, options = kind.split(" ", 2)
            version = {"cgroup": _V1, "cgroup2": _V2}.get(file_system)
            if version is None or version not in paths:
                continue
            if version is _V2 or "memory" in options.split(","):
                mounted, place = (PurePosixPath(part) for part in mount.split(" ")[3:5])
                yield from _of_group(root, version, place, mounted, paths[version])


def _group_paths(root: Path) -> dict[_Version, PurePosixPath]:
    """The path of our group in the tree of each version."""
    paths = {}
    for line in _lines(root / "proc/self/cgroup"):
        number, controllers, path = line.split(":", 2)
        if number == "0":
            paths[_V2] = PurePosixPath(path)
        elif "memory" in controllers.split(","):
            paths[_V1] = PurePosixPath(path)
    return paths


def _of_group(
    root: Path, version: _Version, place: PurePosixPath, mounted: PurePosixPath, path: PurePosixPath
) -> Iterator[int]:
    """What is left in a group and in those around it.

    Args:
        root: where `/sys` is.
        version: of control groups.
        place: where their tree is mounted.
        mounted: the group that is mounted there; in a container its own may be all that is seen.
        path: of our group in the whole tree.
    """
    is_seen = path.is_relative_to(mounted) and ".." not in path.parts
    seen = path.relative_to(mounted) if is_seen else PurePosixPath()
    for group in (place / seen, *(place / outer for outer in seen.parents)):
        folder = root / group.relative_to("/")
        with suppress(OSError, LookupError, ValueError):  # the outermost group has no such files
            limit = int(_lines(folder / version.limit)[0])  # not a number: "max"
            used = int(_lines(folder / version.used)[0])
            reclaimable = _numbers(folder / "memory.stat")[version.reclaimable]
            yield max(0, limit - used + reclaimable)


def _numbers(path: Path) -> dict[str, int]:
    """The first number of each line, by the word before it."""
    return {name: int(number) for name, number, *_ in map(str.split, _lines(path))}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
