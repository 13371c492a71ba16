"""Small numba functions shared by the automata kernels; inlined where they are called."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def grown(values, size):  # type: ignore[no-untyped-def] # numba infers types
    """A copy of an array with room for `size` values; the new ones are 0.

    A loop, because numba takes seconds to compile a slice assignment (it brings its error messages along).
    """
    bigger = np.zeros(size, values.dtype)
    for i in range(values.shape[0]):
        bigger[i] = values[i]
    return bigger


@njit(cache=True, nogil=True)
def sort_small(values, size):  # type: ignore[no-untyped-def] # numba infers types
    """Sort values[:size] ascending, in place: Shell sort, cheap for the short runs that are usual."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            value = values[i]
            k = i
            while k >= gap and values[k - gap] > value:
                values[k] = values[k - gap]
                k -= gap
            values[k] = value
        gap //= 3
