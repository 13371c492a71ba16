"""Tables, ratios, JSON and plot of the engine benchmark."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from rich.table import Table

from benchmarks.bar_chart import bar_chart
from benchmarks.engine_bars import (
    FORCED_OVER_FREE,
    PASSES_PER_TOKEN,
    PLAIN_OVER_FREE,
    bar_table,
    documents_over,
    judge,
)
from benchmarks.machine import describe_run
from benchmarks.report import write_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rich.console import Console

    from benchmarks.engine_runs import Run

PLAIN: Final = "constrained, no forced text"
FREE: Final = "free"
FORCED: Final = "constrained"


def report(
    runs: dict[str, list[Run]],
    missing: dict[str, str],
    arguments: list[str],
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Print everything, and write it where a folder is given.

    Args:
        runs: set of prompts -> of each way the best run.
        missing: peers that could not be measured, with the reason.
        arguments: of the command.
        options: what they mean.
        console: where to.
    """
    ratios: dict[str, dict[str, float]] = {}
    for name, ways in runs.items():
        console.print(_table(name, ways, options))
        ratios[name] = _ratios({run.way: run for run in ways})
        for what, ratio in ratios[name].items():
            console.print(f"{name}: {what}: {ratio:.2f}", markup=False, highlight=False)
    judgements = judge(ratios)
    console.print(bar_table(judgements))
    for peer, reason in missing.items():
        console.print(f"not measured: {peer}: {reason}", markup=False, highlight=False)
    if options.output is None:
        return
    content = {
        "results": {name: [_figures(run) for run in ways] for name, ways in runs.items()},
        "ratios": ratios,
        "bars": [judgement.as_json() for judgement in judgements],
        "not_measured": missing,
    }
    write_json(options.output / "engine.json", describe_run("bench engine", arguments), content)
    groups = {
        name: {run.way: _tokens_per_cpu_s(run) for run in ways} for name, ways in runs.items()
    }
    (options.output / "engine.svg").write_text(
        bar_chart(f"Tokens a CPU second, {options.batch} at once (log scale)", groups)
    )
    console.print(f"wrote {options.output}/engine.json, engine.svg", highlight=False)


def _ratios(runs: dict[str, Run]) -> dict[str, float]:
    """By CPU time: the same work in one process, whatever else the machine does."""
    plain, free, forced = runs[PLAIN], runs[FREE], runs[FORCED]
    found = {
        PLAIN_OVER_FREE: _tokens_per_cpu_s(plain) / _tokens_per_cpu_s(free),
        FORCED_OVER_FREE: _tokens_per_cpu_s(forced) / _tokens_per_cpu_s(free),
        PASSES_PER_TOKEN: forced.num_forward_passes / forced.num_tokens,
    }
    for way, run in runs.items():
        if way not in (PLAIN, FREE, FORCED) and run.num_whole:
            found[documents_over(way)] = (forced.num_whole / forced.cpu_s) / (
                run.num_whole / run.cpu_s
            )
            found[f"tokens a CPU second, constrained over {way}"] = _tokens_per_cpu_s(
                forced
            ) / _tokens_per_cpu_s(run)
    return found


def _table(name: str, runs: Sequence[Run], options: argparse.Namespace) -> Table:
    table = Table(
        title=f"{name}: {options.batch} at once, greedy, {options.threads} thread(s)",
        caption="Peers write other documents: whitespace and the lengths that the model chooses.",
    )
    for column in ("way", "tokens", "whole", "CPU s", "tokens/CPU s", "wall s", "passes/token"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for run in runs:
        table.add_row(
            run.way,
            str(run.num_tokens),
            f"{run.num_whole}/{options.batch}",
            f"{run.cpu_s:.2f}",
            f"{_tokens_per_cpu_s(run):.1f}",
            f"{run.wall_s:.2f}",
            f"{run.num_forward_passes / run.num_tokens:.2f}",
        )
    return table


def _figures(run: Run) -> dict[str, object]:
    return {name: value for name, value in asdict(run).items() if name != "token_ids"}


def _tokens_per_cpu_s(run: Run) -> float:
    return run.num_tokens / run.cpu_s
