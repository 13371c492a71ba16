"""Table and plot of the soak."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from rich.table import Table

from benchmarks.figure import BLUE, GREEN, GREY, VERMILION, save, tidy

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.soak_result import SoakReport


def soak_table(report: SoakReport) -> Table:
    """A row per load."""
    alone, beside = report.alone_ms, report.beside_ms
    table = Table(
        title="Overload and its aftermath",
        caption="Shed: answered with 429 or 503. Between two tokens of eight streams, ms as p50 / "
        f"p99: {alone.p50:.0f} / {alone.p99:.0f}, beside compiles {beside.p50:.0f} / "
        f"{beside.p99:.0f}.",
    )
    columns = ("load", "a second", "sent", "right", "shed", "goodput", "shed p99 ms", "queue", "MB")
    for column in columns:
        table.add_column(column, justify="left" if column == "load" else "right")
    for load in report.loads:
        table.add_row(
            load.load,
            f"{load.rate:.2f}",
            *map(str, (load.num_requests, load.num_right, load.num_shed)),
            f"{load.goodput:.2f}",
            "-" if load.shed_p99_ms is None else f"{load.shed_p99_ms:.0f}",
            str(load.most_waiting),
            f"{load.memory_mb:.0f}",
        )
    return table


def save_soak_plot(report: SoakReport, path: Path, *, caption: str) -> None:
    """Queue and memory over time, goodput of each load, gaps of the neighbours.

    Args:
        report: what to draw.
        path: an .svg file.
        caption: what it ran on.
    """
    figure, panels = plt.subplots(1, 4, figsize=(15, 3.2), layout="constrained")
    times = [sample.at_s for sample in report.samples]
    panels[0].plot(times, [s.num_waiting for s in report.samples], color=VERMILION, label="wait")
    panels[0].plot(times, [s.num_running for s in report.samples], color=BLUE, label="run")
    panels[0].set(title="Sequences", xlabel="s")
    panels[0].legend(frameon=False, fontsize=8)
    panels[1].plot(times, [sample.memory_mb for sample in report.samples], color=BLUE)
    panels[1].set(title="Memory of all processes, MB", xlabel="s")
    for axes in panels[:2]:
        axes.axvspan(report.overload.begin_s, report.overload.end_s, color=GREY, alpha=0.2)
    names = [load.load for load in report.loads]
    panels[2].bar(names, [load.goodput for load in report.loads], color=GREEN)
    panels[2].set(title="Right answers a second")
    for name, spread in (("alone", report.alone_ms), ("compiles", report.beside_ms)):
        panels[3].plot([name, name], [spread.p50, spread.p99], color=BLUE)
        panels[3].plot(name, spread.p50, marker="o", color=BLUE)
    panels[3].set(title="Between tokens, ms: p50, line to p99")
    panels[3].margins(x=0.5)
    for axes in panels:
        axes.set_ylim(bottom=0)
        tidy(axes, grid="y")
    save(figure, path, caption=caption)
