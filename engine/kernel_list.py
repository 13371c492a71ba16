"""Kernels that Python calls, by module, with numba's types of their arguments.

So that they can be compiled before anything is there to call them with; those that are needed
first come first. A test compares the types with those of real calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

KERNELS: Final[Mapping[str, Mapping[str, str]]] = {
    "engine.attention.cpu_kernel": {
        "attend_rows": (
            "(float32[:,:,::1], float32[:,:,:,::1], float32[:,:,:,::1], int32[:,::1], int32[::1], "
            "int32[::1], int64, int64, float32, int64, float32, float32[::1], float32[:,:,::1])"
        ),
        "store_tokens": "(float32[:,:,::1], int64[::1], float32[:,:,::1])",
    },
    "engine.sampler.draw_kernel": {
        "draw_rows": (
            "(float32[:,::1], float32[::1], float32[::1], int64[::1], float64[::1], float32[::1], "
            "float64[::1], int64[::1])"
        ),
    },
    "engine.sampler.largest_kernel": {
        "find_largest": "(float32[:,::1], float32[::1], int64[::1])",
    },
    "engine.device.bitmask_kernel": {
        "apply_rows": "(float32[:,::1], int32[:,::1], int32[::1])",
    },
}
