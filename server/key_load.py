"""KeyLoad: how many requests each API key has under way."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from server.errors import OverloadedError

if TYPE_CHECKING:
    from collections.abc import Iterator


class KeyLoad:
    """Bounds what one key can have under way, so that it cannot take the whole queue.

    Args:
        max_requests: of one key.
    """

    def __init__(self, max_requests: int) -> None:
        self._max_requests = max_requests
        self._num_active: Counter[bytes] = Counter()

    @contextmanager
    def counted(self, key: bytes) -> Iterator[None]:
        """Count a request while it is answered.

        Args:
            key: its digest.

        Raises:
            OverloadedError: the key has too many already.
        """
        if self._num_active[key] >= self._max_requests:
            raise OverloadedError(
                f"This API key has max_requests_per_key={self._max_requests} requests under way; "
                "try again when one has ended"
            )
        self._num_active[key] += 1
        try:
            yield
        finally:
            self._num_active[key] -= 1
