"""ByteLru: a thread-safe mapping bounded in bytes; the least recently used entries go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Entry = TypeVar("_Entry")


class ByteLru(Generic[_Key, _Entry]):
    """A least-recently-used cache.

    Args:
        max_bytes: what all entries together may take; an entry larger than that is not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[_Key, tuple[_Entry, int]] = OrderedDict()
        self._num_bytes = 0
        self._lock = threading.Lock()

    @property
    def num_bytes(self) -> int:
        """What the entries take now."""
        return self._num_bytes

    def get(self, key: _Key) -> _Entry | None:
        """The entry, now the most recently used one; None where there is none."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[0]

    def pop(self, key: _Key) -> _Entry | None:
        """Take the entry out; None where there is none."""
        with self._lock:
            found = self._entries.pop(key, None)
            if found is None:
                return None
            self._num_bytes -= found[1]
            return found[0]

    def put(self, key: _Key, entry: _Entry, num_bytes: int) -> None:
        """Keep an entry of `num_bytes`, dropping old ones to make room."""
        with self._lock:
            old = self._entries.pop(key, None)
            if old is not None:
                self._num_bytes -= old[1]
            if num_bytes > self._max_bytes:
                return
            self._entries[key] = (entry, num_bytes)
            self._num_bytes += num_bytes
            while self._num_bytes > self._max_bytes:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._num_bytes -= dropped
