"""SoakReport: the figures of a soak, and which of its goals were met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks.soak_watch import Sample
    from benchmarks.spread import Spread

LEAST_KEPT: Final = 0.9
MAX_SHED_MS: Final = 250
MAX_GROWTH_MB: Final = 64
MAX_GAP_RATIO: Final = 2.0


@dataclass(frozen=True, slots=True)
class LoadResult:
    """One load.

    Args:
        load: its name.
        rate: requests sent a second.
        num_requests: sent.
        num_right: answered rightly; answers that the token limit cut are counted as right here.
        num_shed: answered with 429 or 503.
        faults: all other faults.
        goodput: right answers a second.
        shed_p99_ms: until a shed request was refused; None: none was.
        most_waiting: the longest queue that was seen.
        memory_mb: of the whole process tree when the load ended.
        begin_s: when it began, on the watch.
        end_s: when its last answer came.
    """

    load: str
    rate: float
    num_requests: int
    num_right: int
    num_shed: int
    faults: list[str]
    goodput: float
    shed_p99_ms: float | None
    most_waiting: int
    memory_mb: float
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class SoakReport:
    """All of it.

    Args:
        usual: the rate that the server answers.
        overload: several times that.
        again: the first rate once more, behind the overload.
        max_waiting: what the server lets wait.
        alone_ms: between two tokens of a stream.
        beside_ms: the same while large schemas compile.
        samples: queue and memory all the while.
    """

    usual: LoadResult
    overload: LoadResult
    again: LoadResult
    max_waiting: int
    alone_ms: Spread
    beside_ms: Spread
    samples: list[Sample]

    @property
    def loads(self) -> tuple[LoadResult, LoadResult, LoadResult]:
        """The three loads, in order."""
        return self.usual, self.overload, self.again

    @property
    def goodput_kept(self) -> float:
        """Goodput under overload, as a share of the usual goodput."""
        return self.overload.goodput / self.usual.goodput if self.usual.goodput else 0.0

    def goals(self) -> list[tuple[str, bool]]:
        """Each goal with its measured value, and whether it was met."""
        growth_mb = self.again.memory_mb - self.overload.memory_mb
        ratio = self.beside_ms.p99 / self.alone_ms.p99
        shed_ms = self.overload.shed_p99_ms
        shed = "none was refused: raise --soak-seconds" if shed_ms is None else f"{shed_ms:.0f} ms"
        most = max(load.most_waiting for load in self.loads)
        faults = sorted({fault for load in self.loads for fault in load.faults})
        return [
            (
                f"goodput under overload: {self.goodput_kept:.2f} of the usual load's, "
                f"at least {LEAST_KEPT:g}",
                self.goodput_kept >= LEAST_KEPT,
            ),
            (
                f"longest queue: {most}, at most max_waiting_requests={self.max_waiting}",
                most <= self.max_waiting,
            ),
            (
                f"p99 of a refusal for want of room: {shed}, at most {MAX_SHED_MS} ms",
                shed_ms is not None and shed_ms <= MAX_SHED_MS,
            ),
            (
                f"memory growth after the overload: {growth_mb:.0f} MB, under {MAX_GROWTH_MB} MB",
                growth_mb < MAX_GROWTH_MB,
            ),
            (
                f"p99 between two tokens beside compiles: {ratio:.2f} times that without, "
                f"at most {MAX_GAP_RATIO:g}",
                ratio <= MAX_GAP_RATIO,
            ),
            (f"wrong answers: {', '.join(faults) or 'none'}", not faults),
        ]
