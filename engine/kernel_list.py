"""Kernels that Python calls, by module, with numba's types of their arguments.

So that they can be compiled before anything is there to call them with. A test compares the types
with those of real calls. Those of attention are left out: the self-test calls them so soon that it
had to wait for another process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

KERNELS: Final[Mapping[str, Mapping[str, str]]] = {
    "engine.sampler.draw_kernel": {
        "find_largest": "(float32[:,::1], float32[::1], int64[::1])",
        "draw_rows": (
            "(float32[:,::1], float32[::1], float32[::1], int64[::1], float64[::1], float32[::1], "
            "float64[::1], int64[::1])"
        ),
    },
    "engine.sampler.bitmask_kernel": {
        "apply_rows": "(float32[:,::1], int32[:,::1], int64[::1])",
    },
}
