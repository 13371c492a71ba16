"""The targets (bars) of the engine: bounds of its ratios, and whether they hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from rich.table import Table

from benchmarks.engine_ratios import (
    FORCED_OVER_FREE,
    PASSES_PER_TOKEN,
    PLAIN_OVER_FREE,
    documents_over,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.engine_ratios import Ratio


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Args:
        work: the set of prompts.
        ratio: its name.
        at_least: the least that holds; None: there is none.
        at_most: the most that holds; None: there is none.
    """

    work: str
    ratio: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def bound(self) -> str:
        """The bound as text."""
        return f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"

    def holds(self, value: float) -> bool:
        """Whether a measured ratio reaches it."""
        return (self.at_least is None or value >= self.at_least) and (
            self.at_most is None or value <= self.at_most
        )


_RIVAL: Final = "transformers + xgrammar's own"

BARS: Final = (
    Bar("documents", PLAIN_OVER_FREE, at_least=0.97),
    Bar("tool calls", PLAIN_OVER_FREE, at_least=0.97),
    Bar("tool calls", FORCED_OVER_FREE, at_least=1.2),
    Bar("documents", documents_over(_RIVAL), at_least=1.3),
    Bar("tool calls", documents_over(_RIVAL), at_least=1.3),
    Bar("tool calls", PASSES_PER_TOKEN, at_most=0.7),
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A bar and what was measured.

    Args:
        bar: the bar.
        ratio: over the rounds, its median counts; None where it was not measured.
    """

    bar: Bar
    ratio: Ratio | None

    @property
    def verdict(self) -> str:
        """The verdict as one word."""
        if self.ratio is None:
            return "not measured"
        return "holds" if self.bar.holds(self.ratio.median) else "MISSED"

    def as_json(self) -> dict[str, object]:
        """For the report."""
        value = None if self.ratio is None else self.ratio.median
        return asdict(self.bar) | {"value": value, "verdict": self.verdict}


def judge(ratios: Mapping[str, Mapping[str, Ratio]]) -> list[Judgement]:
    """Every bar.

    Args:
        ratios: set of prompts -> name of the ratio -> what was measured.
    """
    return [Judgement(bar, ratios.get(bar.work, {}).get(bar.ratio)) for bar in BARS]


def bar_table(judgements: list[Judgement]) -> Table:
    """A row per bar."""
    table = Table(title="Bars")
    for column in ("set", "ratio", "bar", "measured", "verdict"):
        table.add_column(column, justify="right" if column in ("bar", "measured") else "left")
    for judgement in judgements:
        measured = "-" if judgement.ratio is None else str(judgement.ratio)
        bar = judgement.bar
        table.add_row(bar.work, bar.ratio, bar.bound, measured, judgement.verdict)
    return table
