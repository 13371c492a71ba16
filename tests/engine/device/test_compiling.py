"""Every kernel compiles for a real device, though there is none: the interpreter takes more."""

from __future__ import annotations

import json
import os
import subprocess
import sys

COMPUTE_CAPABILITY = "90"

SHARED_BYTES = 64 * 1024
"""What a kernel may have on the smallest devices (CUDA C++ Programming Guide, table "Technical
Specifications per Compute Capability")."""


def test_kernels_compile_to_machine_code_and_fit_the_smallest_device(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.kernel_compiler", COMPUTE_CAPABILITY],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    kernels = json.loads(ended.stdout.splitlines()[-1])
    assert [kernel["name"] for kernel in kernels] == [
        *["shape_rows"] * 4,
        "advance_rows",
        *["attend_slices", "join_slices"] * 3,
    ]
    assert max(kernel["shared_bytes"] for kernel in kernels) <= SHARED_BYTES
