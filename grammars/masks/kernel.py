"""kernel: numba's compiler under a typed name; compiled code is kept on disk and releases the GIL.

Kernels that call each other stand in one file: numba notices a change by the caller's file alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile `function` on its first call for the types that it is given."""
    compiled = numba.njit(function, nogil=True, cache=True)
    return cast("Callable[Parameters, Result]", compiled)
