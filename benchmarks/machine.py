"""What a measurement ran on: the machine, the versions, the command."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypedDict

import psutil

_DISTRIBUTIONS = (
    "tightrope", "xgrammar", "llguidance", "outlines-core", "maskforge", "lm-format-enforcer",
    "interegular", "numba", "numpy", "torch",
)  # fmt: skip


def describe_machine() -> dict[str, str | int]:
    """Processor, cores, memory, operating system and Python."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def describe_versions() -> dict[str, str]:
    """Versions of the libraries that are compared; those not installed are left out."""
    found = {}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def describe_command(benchmark: str, arguments: list[str]) -> str:
    """The shell line that runs the same measurement."""
    return shlex.join(["tightrope", "bench", benchmark, *arguments])


class Run(TypedDict):
    """What every report begins with: the command, when, where, and with what."""

    command: str
    date: str
    machine: dict[str, str | int]
    versions: dict[str, str]


def describe_run(command: str) -> Run:
    """The run that is going on.

    Args:
        command: the shell line, see `describe_command`.
    """
    return {
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "versions": describe_versions(),
    }


def has_cuda() -> bool:
    """Whether a CUDA device is at hand."""
    import torch  # a second of import that only this question needs

    return bool(torch.cuda.is_available())


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if sys.platform == "linux" and info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
