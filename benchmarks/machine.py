"""What a measurement ran on: the command, the machine, the versions."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

_DISTRIBUTIONS = (
    "tightrope", "xgrammar", "llguidance", "outlines-core", "maskforge", "lm-format-enforcer",
    "interegular", "numba", "numpy", "torch", "transformers", "triton",
)  # fmt: skip


class Run(TypedDict):
    """What every report begins with: the command, when, where, and with what."""

    command: str
    date: str
    machine: dict[str, str | int]
    versions: dict[str, str]


def describe_run(command: str, arguments: Sequence[str]) -> Run:
    """The current run.

    Args:
        command: of `tightrope`, such as "bench masks".
        arguments: of the command.
    """
    return {
        "command": shlex.join(["tightrope", *command.split(), *arguments]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
        "versions": _versions(),
    }


def _machine() -> dict[str, str | int]:
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _versions() -> dict[str, str]:
    """Versions of the libraries that matter; those not installed are left out."""
    found = {}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def has_cuda() -> bool:
    """Whether there is a CUDA device."""
    import torch  # a second of import that only this question needs

    return bool(torch.cuda.is_available())


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if sys.platform == "linux" and info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
