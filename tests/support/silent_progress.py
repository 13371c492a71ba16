"""SilentProgress: a `Progress` that shows nothing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class SilentProgress:
    """Takes every stage and every count of bytes."""

    @contextmanager
    def stage(self, label: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
        yield lambda _done_bytes: None
