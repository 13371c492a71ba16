"""BodyLoad: how many bytes of bodies are in memory, over all requests that are being answered."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from server.errors import OverloadedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class BodyLoad:
    """Bounds the bodies of all requests together, so that many large ones cannot fill the memory.

    Args:
        max_bytes: of all of them.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._num_bytes = 0

    @contextmanager
    def counted(self) -> Iterator[Callable[[int], None]]:
        """Count what comes of one request's body, until the request is answered.

        Yields:
            What is to be called with a number of bytes that have come; it raises OverloadedError
            where there is no room for them.
        """
        num_taken = 0

        def take(num_bytes: int) -> None:
            nonlocal num_taken
            if self._num_bytes + num_bytes > self._max_bytes:
                raise OverloadedError(
                    f"The requests being answered already have max_total_body_bytes="
                    f"{self._max_bytes}; try again later"
                )
            num_taken += num_bytes
            self._num_bytes += num_bytes

        try:
            yield take
        finally:
            self._num_bytes -= num_taken
