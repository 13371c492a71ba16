"""one_writer_at_a_time: processes that test side by side share numba's folder of machine code."""

from __future__ import annotations

import fcntl
from pathlib import Path

from numba.core.caching import IndexDataCacheFile


def one_writer_at_a_time() -> None:
    """Put a lock around numba's writing of a kernel.

    Its index is read, changed and written: two processes that compile a function for different
    types at the same time could give one's types the other's code. Servers need no lock, since
    what they call is compiled ahead; tests call kernels with types that no server does.
    """
    save = IndexDataCacheFile.save

    def save_alone(self, key, data):
        with Path(self._cache_path, "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # freed when the file is closed
            save(self, key, data)

    IndexDataCacheFile.save = save_alone  # type: ignore[method-assign]  # numba has no hook for it
