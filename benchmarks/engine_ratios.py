"""The ratios between ways of a round, and what they are over several rounds."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.engine_runs import Run

    Round: TypeAlias = Mapping[str, Run]
    """One run of each way, by its name."""

PLAIN: Final = "constrained, no forced text"
FREE: Final = "free"
FORCED: Final = "constrained"

PLAIN_OVER_FREE: Final = "tokens a CPU second, constrained without forced text over free"
FORCED_OVER_FREE: Final = "tokens a CPU second, constrained over free"
PASSES_PER_TOKEN: Final = "forward passes over tokens, with forced text"  # noqa: S105  # no secret


def documents_over(peer: str) -> str:
    """Name of the ratio to a peer, by documents that ended by themselves."""
    return f"documents a CPU second, constrained over {peer}"


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio over the rounds: the one in the middle, and the outermost."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Ratio:
        """Of at least one round."""
        return cls(median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.3f} ({self.least:.3f} to {self.most:.3f})"


def ratios_of(rounds: Sequence[Round]) -> dict[str, Ratio]:
    """Name -> ratio, of those that every round has."""
    of_each = [_of_round(runs) for runs in rounds]
    return {
        name: Ratio.of([of_round[name] for of_round in of_each])
        for name in of_each[0]
        if all(name in of_round for of_round in of_each)
    }


def tokens_per_cpu_s(run: Run) -> float:
    """The speed that is compared: by CPU time, whatever else the machine does."""
    return run.num_tokens / run.cpu_s


def _of_round(runs: Round) -> dict[str, float]:
    plain, free, forced = runs[PLAIN], runs[FREE], runs[FORCED]
    found = {
        PLAIN_OVER_FREE: tokens_per_cpu_s(plain) / tokens_per_cpu_s(free),
        FORCED_OVER_FREE: tokens_per_cpu_s(forced) / tokens_per_cpu_s(free),
        PASSES_PER_TOKEN: forced.num_forward_passes / forced.num_tokens,
    }
    for way, run in runs.items():
        if way not in (PLAIN, FREE, FORCED) and run.num_whole:
            found[documents_over(way)] = (forced.num_whole / forced.cpu_s) / (
                run.num_whole / run.cpu_s
            )
            found[f"tokens a CPU second, constrained over {way}"] = tokens_per_cpu_s(
                forced
            ) / tokens_per_cpu_s(run)
    return found
