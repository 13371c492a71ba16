"""lean_kernel, lean_helper: numba's compiler for mask kernels and the helpers inside them.

What Python calls takes arrays and plain tuples of them: numba's files on disk name the types of the
arguments and could not be read any more after a class of ours is renamed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numba

from grammars.automata.kernels import kept_on_disk

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.kernels import Parameters, Result


def lean_kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a `function` that makes no arrays, without counting references to those it is given.

    Numba has the option for its own use. Where arrays are made it refuses to compile: it cannot go
    wrong in silence.
    """
    return kept_on_disk(function, {"_nrt": False, "no_cfunc_wrapper": True})


def lean_helper(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The same for what only such kernels call (Python must not, see `helper`), compiled into them.

    A helper that takes a tuple of arrays would else pass each of them on the stack and count them
    up and down: six sevenths of the time of a walk.
    """
    options: dict[str, Any] = {
        "_nrt": False,
        "forceinline": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }
    compiled = numba.njit(function, nogil=True, **options)
    return cast("Callable[Parameters, Result]", compiled)
