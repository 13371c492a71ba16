"""Table and plot of the serving benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from rich.table import Table

from benchmarks.figure import BLUE, VERMILION, save, tidy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.serve_result import ServeResult, Slo
    from benchmarks.spread import Spread


def result_table(results: Sequence[ServeResult], slo: Slo) -> Table:
    """A row per load."""
    table = Table(
        title="Serving: ms as p50 / p99",
        caption=f"cut: the token limit came first. Goodput: right answers a second with the first "
        f"piece within {slo.first_ms:g} ms and {slo.token_ms:g} ms a token.",
    )
    columns = ("load", "right", "cut", "wrong", "tokens/s", "answers/s", "goodput")
    for column in (*columns, "TTFT", "TPOT", "ITL", "end to end"):
        table.add_column(column, justify="left" if column == "load" else "right")
    for result in results:
        table.add_row(
            result.load,
            f"{result.num_right}/{result.num_requests}",
            str(result.num_cut),
            str(sum(result.faults.values())),
            f"{result.tokens_per_s:.1f}",
            f"{result.answers_per_s:.2f}",
            f"{result.goodput:.2f}",
            *map(_short, (result.first_ms, result.token_ms, result.gap_ms, result.total_ms)),
        )
    return table


def fault_lines(results: Sequence[ServeResult]) -> list[str]:
    """A line for each kind of fault of each load."""
    return [
        f"{result.load}: {count} x {fault}"
        for result in results
        for fault, count in result.faults.items()
    ]


def ratio_line(results: Sequence[ServeResult]) -> str | None:
    """The throughput of the most constrained load against that of the free one."""
    ordered = sorted(results, key=lambda result: result.constrained_percent)
    if len(ordered) < 2 or ordered[0].constrained_percent == ordered[-1].constrained_percent:
        return None
    free, constrained = ordered[0], ordered[-1]
    ratio = constrained.tokens_per_s / free.tokens_per_s
    return (
        f"tokens a second at {constrained.constrained_percent} % constrained over "
        f"{free.constrained_percent} %: {ratio:.2f}"
    )


def save_plot(results: Sequence[ServeResult], path: Path, *, caption: str) -> None:
    """Throughput, time to the first piece and time per token of every load.

    Args:
        results: in the order of the bars.
        path: an .svg file.
        caption: what it ran on.
    """
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
    loads = [result.load for result in results]
    panels[0].bar(loads, [result.tokens_per_s for result in results], color=VERMILION)
    panels[0].set(title="Tokens a second")
    for axes, title, spreads in (
        (panels[1], "To the first piece, ms: p50, line to p99", [r.first_ms for r in results]),
        (panels[2], "A token, ms: p50, line to p99", [r.token_ms for r in results]),
    ):
        axes.set(title=title)
        for load, spread in zip(loads, spreads, strict=True):
            if spread is not None:
                axes.plot([load, load], [spread.p50, spread.p99], color=BLUE)
                axes.plot(load, spread.p50, marker="o", color=BLUE)
        axes.set_ylim(bottom=0)
    for axes in panels:
        axes.tick_params(axis="x", rotation=30)
        tidy(axes, grid="y")
    save(figure, path, caption=caption)


def _short(spread: Spread | None) -> str:
    return "-" if spread is None else f"{spread.p50:.0f} / {spread.p99:.0f}"
