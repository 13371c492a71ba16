"""The figure of the mask benchmark: compile time and step time of every backend and schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import matplotlib.pyplot as plt
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.figure import BLUE, GREEN, GREY, PURPLE, VERMILION, save, tidy
from benchmarks.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from benchmarks.mask_report import MaskResult

_COLOURS: Final = {
    "tightrope": VERMILION,
    "llguidance": BLUE,
    "xgrammar": GREEN,
    "outlines": PURPLE,
    "fsm-reference": GREY,
}


def save_plot(results: Sequence[MaskResult], path: Path, *, caption: str) -> None:
    """Draw both panels; times are on a log scale, further left is better.

    Args:
        results: every cell.
        path: an .svg file.
        caption: what it ran on, under the panels.
    """
    cases = list(dict.fromkeys(result.case for result in results))
    backends = list(dict.fromkeys(result.backend for result in results))
    figure, panels = plt.subplots(
        1, 2, figsize=(12, 1.2 + 0.17 * len(cases) * (len(backends) + 1)), sharey=True,
        layout="constrained",
    )  # fmt: skip
    for index, backend in enumerate(backends):
        offset = (index - (len(backends) - 1) / 2) / (len(backends) + 1)
        for result in results:
            if result.backend == backend:
                _draw_result(panels, cases.index(result.case) + offset, result)
    panels[0].set(title="Compile and first mask", xlabel="ms")
    panels[1].set(title="A token: mean, line to p99; hollow: second pass", xlabel="µs")
    panels[0].set_yticks(range(len(cases)), cases)
    panels[0].invert_yaxis()
    for axes in panels:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        tidy(axes, grid="x")
        for row in range(1, len(cases)):
            axes.axhline(row - 0.5, color="black", linewidth=0.3, alpha=0.4)
    handles = [Patch(color=_COLOURS[name], label=name) for name in backends]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(backends), frameon=False)
    save(figure, path, caption=f"{caption}.  x: refused or failed.  Further left is better.")


def _draw_result(panels: Sequence[Axes], y: float, result: MaskResult) -> None:
    measurement, colour = result.measurement, _COLOURS[result.backend]
    if not measurement.is_measured:
        for axes in panels:
            axes.plot(
                0.012, y, marker="x", markersize=5, color=colour, clip_on=False,
                transform=axes.get_yaxis_transform(),
            )  # fmt: skip
        return
    ready_ms = measurement.compile_ms + measurement.first_mask_us / 1e3
    spread = Spread.of(measurement.step_us)
    panels[0].plot(ready_ms, y, marker="o", markersize=6, color=colour)
    panels[1].plot([spread.mean, spread.p99], [y, y], color=colour, linewidth=1.2)
    panels[1].plot(spread.p99, y, marker="|", markersize=7, color=colour)
    panels[1].plot(spread.mean, y, marker="o", markersize=6, color=colour)
    again = Spread.of(measurement.again_us)
    panels[1].plot(again.mean, y, marker="o", markersize=6, color=colour, markerfacecolor="white")
