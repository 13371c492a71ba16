"""`tightrope bench grammars`: coverage and speed of grammar compilers, by MaskBench's rules."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.child_process import ONE_THREAD
from benchmarks.console import make_console
from benchmarks.engines.base import ENGINES
from benchmarks.flags import (
    add_clock_flag,
    add_count,
    add_output_flag,
    add_seed,
    add_tokenizer_flags,
    positive,
)
from benchmarks.grammar_data import GrammarDataError, by_names, draw_sample, find_data
from benchmarks.grammar_failures import failure_lines
from benchmarks.grammar_plot import save_plot
from benchmarks.grammar_ratios import compare
from benchmarks.grammar_report import ratio_table, summary_json, summary_table
from benchmarks.grammar_run import measure_all, start_engines
from benchmarks.grammar_summary import summarise
from benchmarks.grammar_worker import WorkerSettings
from benchmarks.machine import describe_run
from benchmarks.model_tokenizer import read_tokenizer
from benchmarks.report import write_json
from benchmarks.tokenizer_source import TokenizerSourceError
from server.models.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.clock import Clock
    from benchmarks.grammar_data import GrammarData, GrammarEntry
    from benchmarks.tokenizer_source import TokenizerSource


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, write JSON, plot and failures.

    Returns:
        0, or 1 where nothing was measured, or 2 where the data or the tokenizer cannot be used.
    """
    options = _parser().parse_args(arguments)
    console = make_console()
    os.environ.update(ONE_THREAD)  # inherited by the workers, who import their libraries then
    try:
        data = find_data(options.data)
        entries = _select(data, options)
        tokenizer = read_tokenizer(options)
    except (GrammarDataError, TokenizerSourceError, ModelError) as error:
        console.print(f"tightrope bench grammars: {error}", markup=False)
        return 2
    with ExitStack() as stack:
        running, missing = start_engines(_settings(options, tokenizer), stack, console)
        results = measure_all(entries, running, tokenizer.vocabulary(), console)
    for name, reason in missing.items():
        console.print(f"{name} did not run: {reason}", markup=False, highlight=False)
    if not results:
        return 1
    by_engine = {name: [one for one in results if one.engine == name] for name in running}
    summaries = [
        summarise(of_engine, data.weights, limit_s=options.time_limit)
        for of_engine in by_engine.values()
    ]
    ratios = compare(results)
    console.print(summary_table(summaries))
    if ratios:
        console.print(ratio_table(ratios))
    if options.failures is not None:
        options.failures.write_text("".join(f"{line}\n" for line in failure_lines(results)))
    if options.output is not None:
        run = describe_run("bench grammars", arguments)
        report = {
            **_conditions(options, tokenizer),
            "engines": {name: ENGINES[name].about for name in running},
            "missing": missing,
            "results": [summary_json(summary) for summary in summaries],
            "ratios": [asdict(peer) for peer in ratios],
        }
        write_json(options.output / "grammars.json", run, report)
        processor = str(run["machine"]["processor"])
        caption = _caption(len(entries), tokenizer, options.clock, processor)
        save_plot(summaries, results, options.output / "grammars.svg", caption=caption)
        console.print(f"wrote {options.output}/grammars.json, grammars.svg", highlight=False)
    return 0


def _caption(num_schemas: int, tokenizer: TokenizerSource, clock: Clock, processor: str) -> str:
    return (
        f"{num_schemas:,} schemas; {tokenizer.name}, {tokenizer.padded_size:,} rows; "
        f"{processor}, one thread, {clock.value} clock"
    )


def _conditions(options: argparse.Namespace, tokenizer: TokenizerSource) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "tokenizer": {"name": tokenizer.name, "padded_size": tokenizer.padded_size},
        "clock": options.clock.value,
        "clock_reading_us": round(options.clock.reading_us(), 3),
        "time_limit_s": options.time_limit,
        "memory_limit_gib": options.memory_limit,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tightrope bench grammars", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="maskbench/data of a checkout of jsonschemabench, or a folder of *.jsonl.gz",
    )
    parser.add_argument(
        "--sample",
        type=positive,
        metavar="N",
        help="number of schemas to draw, from each subset in proportion (default: all)",
    )
    add_seed(parser, "sample")
    parser.add_argument("--schemas", nargs="+", metavar="NAME", help="only these schemas")
    parser.add_argument(
        "--backends",
        nargs="+",
        choices=ENGINES,
        default=list(ENGINES),
        metavar="NAME",
        help=f"of {', '.join(ENGINES)} (default: all)",
    )
    add_count(parser, "--time-limit", 60, "seconds per schema", metavar="S")
    add_count(parser, "--memory-limit", 8, "GiB per process", metavar="GIB")
    add_clock_flag(parser)
    add_tokenizer_flags(parser, "qwen2.5-coder-0.5b")
    parser.add_argument(
        "--failures", type=Path, metavar="FILE", help="file to list everything that went wrong in"
    )
    add_output_flag(parser, "grammars.json", "grammars.svg")
    return parser


def _select(data: GrammarData, options: argparse.Namespace) -> tuple[GrammarEntry, ...]:
    entries = data.entries
    if options.schemas is not None:
        entries = by_names(entries, options.schemas)
    if options.sample is not None:
        entries = draw_sample(entries, options.sample, options.seed)
    return entries


def _settings(options: argparse.Namespace, tokenizer: TokenizerSource) -> dict[str, WorkerSettings]:
    return {
        name: WorkerSettings(
            engine=ENGINES[name],
            tokenizer=tokenizer,
            clock=options.clock,
            limit_s=options.time_limit,
            memory_bytes=options.memory_limit << 30,
        )
        for name in options.backends
    }
