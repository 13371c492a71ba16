"""kernels_announced: tells of each kernel that numba compiles, once it begins."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from numba.core import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def kernels_announced(announce: Callable[[str], None]) -> Iterator[None]:
    """Within this context `announce` is given the name of each kernel that has to be compiled.

    Kernels that are on disk already are loaded in silence, and so are the helpers inside a kernel.
    """
    with event.install_listener("numba:compile", _Outermost(announce)):
        yield


class _Outermost(event.Listener):
    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._depth = 0

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._announce(event.data["dispatcher"].py_func.__name__)
        self._depth += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002 - numba's signature
        self._depth -= 1
