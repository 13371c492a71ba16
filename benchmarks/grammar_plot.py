"""The figure of the grammar benchmark: what became of the schemas, and the spreads of the times."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import matplotlib.pyplot as plt

from benchmarks.figure import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    save,
    tidy,
)
from benchmarks.grammar_result import Verdict
from benchmarks.spread import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from benchmarks.grammar_result import Result
    from benchmarks.grammar_summary import Summary

_ENGINE_COLOURS: Final = (VERMILION, BLUE, GREEN, SKY, PURPLE, ORANGE, GREY)
_VERDICT_COLOURS: Final = {
    Verdict.PASSING: GREEN,
    Verdict.COMPILE_ERROR: GREY,
    Verdict.VALID_REFUSED: SKY,
    Verdict.INVALID_ACCEPTED: VERMILION,
    Verdict.RAISED: PURPLE,
    Verdict.TIMEOUT: ORANGE,
    Verdict.CRASH: BLACK,
}


def save_plot(
    summaries: Sequence[Summary], results: Sequence[Result], path: Path, *, caption: str
) -> None:
    """Draw the three panels; times are on a log scale, lower is better.

    Args:
        summaries: of every engine.
        results: every cell.
        path: an .svg file.
        caption: what it ran on, under the panels.
    """
    figure, panels = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
    _draw_verdicts(panels[0], [summary.engine for summary in summaries], results)
    for axes, kind, title in (
        (panels[1], "first_mask_ms", "Compile and first mask, ms"),
        (panels[2], "step_us", "Mask and commit of a token, µs"),
    ):
        _draw_times(axes, summaries, kind)
        axes.set_title(title)
    figure.legend(*panels[1].get_legend_handles_labels(), loc="outside right upper", frameon=False)
    save(figure, path, caption=caption)


def _draw_verdicts(axes: Axes, engines: Sequence[str], results: Sequence[Result]) -> None:
    """One bar per engine, cut into shares of the schemas."""
    for y, engine in enumerate(engines):
        verdicts = Counter(result.verdict for result in results if result.engine == engine)
        left = 0.0
        for verdict, colour in _VERDICT_COLOURS.items():
            share = 100 * verdicts[verdict] / verdicts.total()
            label = verdict.value if y == 0 else None
            axes.barh(y, share, left=left, color=colour, label=label)
            left += share
    axes.set(title="Schemas, %", xlim=(0, 100))
    axes.set_yticks(range(len(engines)), engines)
    axes.invert_yaxis()
    tidy(axes)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.1), ncols=3, frameon=False, fontsize=8)


def _draw_times(axes: Axes, summaries: Sequence[Summary], kind: str) -> None:
    labels = [name.replace("_", ".") for name in STATISTICS]
    for colour, summary in zip(_ENGINE_COLOURS, summaries, strict=False):
        spread = getattr(summary.times, kind)
        if spread is not None:
            times = [getattr(spread, name) for name in STATISTICS]
            axes.plot(labels[:1], times[:1], marker="o", color=colour, markerfacecolor="white")
            axes.plot(labels[1:], times[1:], marker="o", color=colour, label=summary.engine)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    tidy(axes, grid="y")
