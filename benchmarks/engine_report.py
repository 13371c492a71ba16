"""Tables, ratios, JSON and plot of the engine benchmark."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.bar_chart import bar_chart
from benchmarks.engine_bars import bar_table, judge
from benchmarks.engine_ratios import ratios_of, tokens_per_cpu_s
from benchmarks.machine import describe_run
from benchmarks.report import write_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from benchmarks.engine_ratios import Round
    from benchmarks.engine_runs import Run


def report(
    rounds: Mapping[str, Sequence[Round]],
    missing: dict[str, str],
    arguments: list[str],
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Print everything, and write it where a folder is given.

    Args:
        rounds: set of prompts -> its rounds.
        missing: peers that could not be measured, with the reason.
        arguments: of the command.
        options: what they mean.
        console: where to.
    """
    ratios = {name: ratios_of(of_set) for name, of_set in rounds.items()}
    for name, of_set in rounds.items():
        console.print(_table(name, of_set, options))
        for what, ratio in ratios[name].items():
            console.print(f"{name}: {what}: {ratio}", markup=False, highlight=False)
    judgements = judge(ratios)
    console.print(bar_table(judgements))
    for peer, reason in missing.items():
        console.print(f"not measured: {peer}: {reason}", markup=False, highlight=False)
    if options.output is None:
        return
    content = {
        "results": {
            name: [_figures(runs) for runs in _by_way(of_set).values()]
            for name, of_set in rounds.items()
        },
        "ratios": {
            name: {what: asdict(ratio) for what, ratio in of_set.items()}
            for name, of_set in ratios.items()
        },
        "bars": [judgement.as_json() for judgement in judgements],
        "not_measured": missing,
    }
    write_json(options.output / "engine.json", describe_run("bench engine", arguments), content)
    groups = {
        name: {way: tokens_per_cpu_s(_middle(runs)) for way, runs in _by_way(of_set).items()}
        for name, of_set in rounds.items()
    }
    (options.output / "engine.svg").write_text(
        bar_chart(f"Tokens a CPU second, {options.batch} at once (log scale)", groups)
    )
    console.print(f"wrote {options.output}/engine.json, engine.svg", highlight=False)


def _by_way(rounds: Sequence[Round]) -> dict[str, list[Run]]:
    """The runs of each way that every round has."""
    return {
        way: [of_round[way] for of_round in rounds]
        for way in rounds[0]
        if all(way in of_round for of_round in rounds)
    }


def _middle(runs: Sequence[Run]) -> Run:
    """The run in the middle by CPU time, the dearer of two."""
    return sorted(runs, key=lambda run: run.cpu_s)[len(runs) // 2]


def _table(name: str, rounds: Sequence[Round], options: argparse.Namespace) -> Table:
    table = Table(
        title=f"{name}: {options.batch} at once, greedy, {options.threads} thread(s), "
        f"the middle of {len(rounds)} round(s)",
        caption="Peers write other documents: whitespace and the lengths that the model chooses.",
    )
    for column in ("way", "tokens", "whole", "CPU s", "tokens/CPU s", "wall s", "passes/token"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for way, runs in _by_way(rounds).items():
        run = _middle(runs)
        table.add_row(
            way,
            str(run.num_tokens),
            f"{run.num_whole}/{options.batch}",
            f"{run.cpu_s:.2f}",
            f"{tokens_per_cpu_s(run):.1f}",
            f"{run.wall_s:.2f}",
            f"{run.num_forward_passes / run.num_tokens:.2f}",
        )
    return table


def _figures(runs: Sequence[Run]) -> dict[str, object]:
    """Of the middle run, and the CPU seconds of all."""
    figures = {name: value for name, value in asdict(_middle(runs)).items() if name != "token_ids"}
    return figures | {"cpu_s_of_rounds": [run.cpu_s for run in runs]}
