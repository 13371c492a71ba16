"""What every measuring process has in common: one thread, and it ends with its parent."""

from __future__ import annotations

import multiprocessing
import os
import threading
from types import MappingProxyType
from typing import Final

ONE_THREAD: Final = MappingProxyType(
    dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
    )
)
"""Environment for libraries that would start threads; read when they are imported."""


def end_with_parent() -> None:
    """Exit when the benchmark is killed: an orphan would slow whatever is measured next."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
