"""Clock: what a time of a benchmark is."""

from __future__ import annotations

import time
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


class Clock(Enum):
    """What a time is."""

    WALL = "wall"  # MaskBench's; right on a machine that does nothing else
    CPU = "cpu"  # of the whole process; right on a shared machine, a system call dearer a reading

    @property
    def read(self) -> Callable[[], int]:
        """Reads it in nanoseconds."""
        return time.perf_counter_ns if self is Clock.WALL else time.process_time_ns

    def reading_us(self) -> float:
        """What a reading costs; each time that is told holds about one."""
        start = time.perf_counter_ns()
        for _ in range(1000):
            self.read()
        return (time.perf_counter_ns() - start) / 1e6


def add_clock_flag(parser: argparse.ArgumentParser) -> None:
    """Add `--clock`."""
    parser.add_argument(
        "--clock",
        type=Clock,
        choices=list(Clock),
        default=Clock.WALL,
        help="wall: as it is felt; cpu: of the process, for a machine that others use as well",
    )
