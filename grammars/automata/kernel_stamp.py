"""imports_stamp: what a module's kernels are made of beside its own file.

Numba keeps a kernel's code on disk under a digest of the kernel's file. What that file imports is
compiled into the kernel too, helpers as code and constants as numbers, and may change without it: a
column that moves, or a helper that is mended. Kernels that are kept under this stamp as well are
then compiled anew.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONSTANTS = (bool, int, float, str, bytes, np.generic)


def imports_stamp(names: Mapping[str, object]) -> str:
    """The stamp of what a module has imported and defined so far.

    It holds constants (numbers, texts, arrays), the fields of named tuples, and for helpers of
    other modules their files with the stamps of these.

    Args:
        names: the module's globals, `__name__` among them.
    """
    digest = hashlib.sha256()
    for name, value in sorted(names.items()):
        if name.startswith("__"):
            continue
        if isinstance(value, _CONSTANTS):
            digest.update(f"{name}={value!r};".encode())
        elif isinstance(value, np.ndarray):
            digest.update(f"{name}={value.dtype}{value.shape};".encode() + value.tobytes())
        elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            digest.update(f"{name}={value._fields};".encode())
        elif hasattr(value, "py_func") and value.py_func.__module__ != names["__name__"]:
            digest.update(f"{name}={_module_stamp(value.py_func.__module__)};".encode())
    return digest.hexdigest()


@cache
def _module_stamp(name: str) -> str:
    """The stamp of a module that is loaded, with its file."""
    module = sys.modules[name]
    assert module.__file__ is not None, "helpers are in files"
    digest = hashlib.sha256(Path(module.__file__).read_bytes())
    digest.update(imports_stamp(vars(module)).encode())
    return digest.hexdigest()
