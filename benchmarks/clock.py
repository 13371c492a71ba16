"""Clock: which clock a benchmark reads."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock(StrEnum):
    """Wall time or CPU time."""

    WALL = "wall"  # MaskBench's; right on a machine that does nothing else
    CPU = "cpu"  # of the whole process; right on a shared machine, a system call dearer a reading

    @property
    def read(self) -> Callable[[], int]:
        """Reads it in nanoseconds."""
        return time.perf_counter_ns if self is Clock.WALL else time.process_time_ns

    def reading_us(self) -> float:
        """What a reading costs; each time that is reported contains about one."""
        start = time.perf_counter_ns()
        for _ in range(1000):
            self.read()
        return (time.perf_counter_ns() - start) / 1e6
