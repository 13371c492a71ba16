"""What the benchmarks show in the terminal, apart from their tables."""

from __future__ import annotations

import sys
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_TABLE_WIDTH: Final = 150


def make_console() -> Console:
    """The terminal; a file or a pipe has no width of its own, and the tables need this much."""
    return Console() if sys.stdout.isatty() else Console(width=_TABLE_WIDTH)


def make_progress(console: Console) -> Progress:
    """A bar with what is being done, how much of it, and for how long."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console)
