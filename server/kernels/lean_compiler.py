"""compile_leanly: numba without the work whose results a process that only compiles never uses."""

from __future__ import annotations

from typing import Final

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.targetconfig import TargetConfig

_ENTRY: Final = "_ZN7cpython"
"""How names of functions begin that Python calls."""


def compile_leanly() -> None:
    """From now on this process compiles in three quarters of the time, but can call nothing of it.

    Numba has no settings for it.
    """
    JITCPUCodegen._library_class = _LeanLibrary  # noqa: SLF001
    JITCPUCodegen.set_env = _set_nothing  # type: ignore[method-assign]
    TargetConfig.__eq__ = _is_same  # type: ignore[method-assign]
    TargetConfig.__hash__ = _hash  # type: ignore[method-assign]


class _LeanLibrary(JITCodeLibrary):
    """Makes machine code of what Python calls; helpers are only linked into that.

    Numba optimises each helper alone, makes machine code of it, and then compiles it again as a
    part of each kernel.
    """

    def _optimize_final_module(self) -> None:
        if self._has_entry():
            super()._optimize_final_module()  # type: ignore[no-untyped-call]

    def _finalize_final_module(self) -> None:
        if self._has_entry():
            super()._finalize_final_module()  # type: ignore[no-untyped-call]
        else:
            self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
            self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Of a function that Python calls; 0, which numba takes for an answer, of any other."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        if not self._has_entry():
            return 0
        return int(super().get_pointer_to_function(name))  # type: ignore[no-untyped-call]

    def _has_entry(self) -> bool:
        is_read_from_disk = self._disable_inspection
        return is_read_from_disk or any(
            function.name.startswith(_ENTRY) and not function.is_declaration
            for function in self._final_module.functions
        )


def _set_nothing(codegen: JITCPUCodegen, name: str, environment: object) -> None:
    """Codes of helpers have no place for what only running code reads."""


# Numba finds what it knows of an operation by all of its thirty options, asked for one by one.


def _is_same(mine: TargetConfig, other: TargetConfig) -> bool:
    if mine._values == other._values:  # noqa: SLF001
        return True
    return bool(mine.values() == other.values())  # type: ignore[no-untyped-call]


def _hash(options: TargetConfig) -> int:
    return hash(type(options))
