"""What may be taken of memory: the least that the machine and all control groups have left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from engine import resolved_config
from engine.config import EngineConfig
from engine.free_memory import free_memory
from engine.resolved_config import resolve_config

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2**30
MACHINE = f"MemTotal: {64 * 2**20} kB\nMemAvailable: {60 * 2**20} kB\nHugePages_Total: 0\n"
UNLIMITED = 2**63 - 4096
V2_MOUNT = "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def write(root: Path, files: dict[str, str]) -> Path:
    """A made-up system that has these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def v1(folder: str, limit: int, used: int, cached: int = 0) -> dict[str, str]:
    """A group of version 1."""
    return {
        f"{folder}/memory.limit_in_bytes": f"{limit}\n",
        f"{folder}/memory.usage_in_bytes": f"{used}\n",
        f"{folder}/memory.stat": f"inactive_file 7\ntotal_inactive_file {cached}\n",
    }


def v2(folder: str, limit: int | str, used: int, cached: int = 0) -> dict[str, str]:
    """A group of version 2."""
    return {
        f"{folder}/memory.max": f"{limit}\n",
        f"{folder}/memory.current": f"{used}\n",
        f"{folder}/memory.stat": f"anon 5\ninactive_file {cached}\n",
    }


def v1_mount(mounted: str) -> str:
    options = "rw,relatime - cgroup cgroup rw"
    return (
        f"33 31 0:30 {mounted} /sys/fs/cgroup/cpu {options},cpu\n"
        f"34 31 0:31 {mounted} /sys/fs/cgroup/memory {options},memory\n"
    )


CASES = {
    "no groups": ({}, 60 * GIB),
    "version 2, in a container that sees its own group alone": (
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": V2_MOUNT,
            **v2("sys/fs/cgroup", 4 * GIB, 3 * GIB, GIB // 2),
        },
        GIB + GIB // 2,
    ),
    "version 2, the limit is that of a group around ours": (
        {
            "proc/self/cgroup": "0::/system.slice/a.service\n",
            "proc/self/mountinfo": V2_MOUNT,
            **v2("sys/fs/cgroup/system.slice", 8 * GIB, GIB),
            **v2("sys/fs/cgroup/system.slice/a.service", "max", GIB),
        },
        7 * GIB,
    ),
    "version 2, beyond the limit already": (
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": V2_MOUNT,
            **v2("sys/fs/cgroup", GIB, 2 * GIB),
        },
        0,
    ),
    "version 2, the group lies outside of what is seen": (
        {
            "proc/self/cgroup": "0::/../other\n",
            "proc/self/mountinfo": V2_MOUNT,
            **v2("sys/fs/cgroup", 5 * GIB, GIB),
            **v2("sys/fs/other", GIB, 0),
        },
        4 * GIB,
    ),
    "version 1, the path as the machine sees it": (
        {
            "proc/self/cgroup": "4:memory:/docker/1f\n1:cpu:/docker/1f\n0::/docker/1f\n",
            "proc/self/mountinfo": v1_mount("/docker/1f"),
            **v1("sys/fs/cgroup/memory", 4 * GIB, GIB, 5),
        },
        3 * GIB + 5,
    ),
    "version 1, inside of a group with a lower limit": (
        {
            "proc/self/cgroup": "4:memory:/jobs/7\n",
            "proc/self/mountinfo": v1_mount("/"),
            **v1("sys/fs/cgroup/memory", UNLIMITED, 9 * GIB),
            **v1("sys/fs/cgroup/memory/jobs", 2 * GIB, GIB),
            **v1("sys/fs/cgroup/memory/jobs/7", 3 * GIB, GIB),
        },
        GIB,
    ),
    "version 1, without limits": (
        {
            "proc/self/cgroup": "4:memory:/\n",
            "proc/self/mountinfo": v1_mount("/"),
            **v1("sys/fs/cgroup/memory", UNLIMITED, 0),
        },
        60 * GIB,
    ),
    "files that say nothing": (
        {"proc/self/cgroup": "?\n", "proc/self/mountinfo": "?\n"},
        60 * GIB,
    ),
}


@pytest.mark.parametrize(("files", "free_bytes"), CASES.values(), ids=CASES.keys())
def test_the_least_of_all_limits_holds(tmp_path, files, free_bytes):
    root = write(tmp_path, {"proc/meminfo": MACHINE} | files)
    assert free_memory(root) == free_bytes


def test_a_system_that_is_not_linux_does_not_tell(tmp_path):
    assert free_memory(tmp_path) is None


@pytest.mark.parametrize(
    ("free_bytes", "num_blocks"), [(GIB, 512), (64 * GIB, 2_048), (None, 2_048)]
)
def test_the_kv_pool_takes_half_of_what_is_free_at_most(monkeypatch, free_bytes, num_blocks):
    monkeypatch.setattr(resolved_config, "free_memory", lambda: free_bytes)
    resolved = resolve_config(
        EngineConfig(block_size=16, max_num_seqs=10_000),
        device=torch.device("cpu"),
        dtype=torch.float32,
        kv_bytes_per_token=2**16,
        model_context_len=1_024,
    )
    assert resolved.num_blocks == num_blocks
