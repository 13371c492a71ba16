"""kernel, helper: numba's compiler for kernels that Python calls, and the helpers inside them.

Numba notices a change by the file of the outermost kernel alone, so kernels that call each other
stand in one file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_LIBERTIES = frozenset({"reassoc", "contract", "nsz", "arcp"})
"""They let LLVM use vector registers in sums; -inf and NaN keep their meaning."""

_HELPER: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile `function` on its first call; the code is kept on disk and runs without the GIL.

    Where no folder for the code can be written, it is kept nowhere.
    """
    return _kept_on_disk(function, {})


def helper(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile `function` into the kernels that call it; Python must not call it, it would crash."""
    return cast("Callable[Parameters, Result]", numba.njit(function, **_HELPER))


def vectorised_kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A kernel whose sums may be added in another order."""
    return _kept_on_disk(function, {"fastmath": set(_LIBERTIES)})


def vectorised_helper(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A helper whose sums may be added in another order."""
    compiled = numba.njit(function, fastmath=set(_LIBERTIES), **_HELPER)
    return cast("Callable[Parameters, Result]", compiled)


def _kept_on_disk(
    function: Callable[Parameters, Result], options: dict[str, Any]
) -> Callable[Parameters, Result]:
    options |= {"nogil": True, "no_cfunc_wrapper": True}
    try:
        compiled = numba.njit(function, cache=True, **options)
    except RuntimeError:  # "no locator available"
        compiled = numba.njit(function, **options)
    return cast("Callable[Parameters, Result]", compiled)
