"""Progress: how the slow stages of getting a model report how far they are."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


class Progress(Protocol):
    """Where progress is shown; stages follow one another and do not nest."""

    def stage(self, label: str, total_bytes: int) -> AbstractContextManager[Callable[[int], None]]:
        """Open a stage; the callable given takes the bytes done so far, of `total_bytes`."""
        ...


class TerminalProgress:
    """A bar for each stage on standard error, by rich; plain lines where there is no terminal."""

    @contextmanager
    def stage(self, label: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeElapsedColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        if not console.is_terminal:
            console.print(f"{label} ...", highlight=False)
        with Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        ) as bars:
            task = bars.add_task(label, total=total_bytes)
            yield lambda done_bytes: bars.update(task, completed=done_bytes)
            bars.update(task, completed=total_bytes)
