"""KERNELS: what is compiled ahead of serving, and which of it numba has not on disk."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from numba.core import sigutils

from engine import kernel_list as engine_kernels
from grammars import kernel_list as grammar_kernels

if TYPE_CHECKING:
    from collections.abc import Mapping

KernelTable: TypeAlias = "Mapping[str, Mapping[str, str]]"
"""Module, kernel in it, the numba types of its arguments."""

KERNELS: Final[KernelTable] = {**engine_kernels.KERNELS, **grammar_kernels.KERNELS}
"""The engine's first: it needs them as soon as the weights are there."""


def find_missing(table: KernelTable) -> KernelTable:
    """The part of a table that would have to be compiled.

    Those that are kept nowhere are left out: another process could not hand them over.
    """
    missing = {}
    for module, kernels in table.items():
        loaded = import_module(module)
        absent = {
            kernel: types
            for kernel, types in kernels.items()
            if not _is_on_disk(getattr(loaded, kernel), types)
        }
        if absent:
            missing[module] = absent
    return missing


def find_kept_nowhere(table: KernelTable) -> list[str]:
    """The kernels that numba cannot keep on disk, since it may write to no folder."""
    return [
        kernel
        for module, kernels in table.items()
        for kernel in kernels
        if getattr(import_module(module), kernel).stats.cache_path is None
    ]


def _is_on_disk(kernel: Any, types: str) -> bool:  # noqa: ANN401  # numba hides what we need
    """Looks into numba's index alone; reading the code takes a hundred times as long."""
    if kernel.stats.cache_path is None:  # kept nowhere
        return True
    cache = kernel._cache  # noqa: SLF001  # numba has no question for it
    key = cache._index_key(parse_types(types), kernel.targetctx.codegen())  # noqa: SLF001
    return key in cache._cache_file._load_index()  # noqa: SLF001


def parse_types(types: str) -> tuple[Any, ...]:
    """The types of arguments as numba's objects, from `(int64, int32[::1])`."""
    arguments: tuple[Any, ...]
    arguments, _ = sigutils.normalize_signature(types)  # type: ignore[no-untyped-call]  # numba's
    return arguments
