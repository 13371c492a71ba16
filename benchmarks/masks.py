"""`tightrope bench masks`: what the token masks of every backend cost on the CPU, in one run."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from benchmarks.cfg_cases import CFG_CASE_NAMES, load_cfg_case
from benchmarks.child_process import ONE_THREAD
from benchmarks.console import make_console, make_progress
from benchmarks.flags import (
    add_clock_flag,
    add_count,
    add_output_flag,
    add_seed,
    add_tokenizer_flags,
)
from benchmarks.machine import describe_run, has_cuda
from benchmarks.mask_cases import CASE_NAMES as SCHEMA_NAMES
from benchmarks.mask_cases import MaskCase, load_case
from benchmarks.mask_plot import save_plot
from benchmarks.mask_report import (
    MaskResult,
    as_json,
    compare,
    missing_lines,
    ratio_table,
    result_table,
)
from benchmarks.mask_worker import Job, run_job
from benchmarks.model_tokenizer import read_tokenizer
from benchmarks.report import write_json
from benchmarks.tokenizer_source import TokenizerSourceError
from grammars.backends.base import BACKEND_NAMES
from server.models.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from benchmarks.cfg_cases import CfgCase
    from benchmarks.tokenizer_source import TokenizerSource

_DEVICE_FLAG: Final = "--device"
_CASE_NAMES: Final = (*SCHEMA_NAMES, *CFG_CASE_NAMES)
_QUICK: Final = {"documents": 2, "repeats": 1, "cases": ["flat", "recursive", "query.lark"]}


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, write JSON and plots.

    Returns:
        0, or 2 where the tokenizer cannot be used.
    """
    if _DEVICE_FLAG in arguments:
        from benchmarks.device import main as measure_steps  # needs torch

        return measure_steps([flag for flag in arguments if flag != _DEVICE_FLAG])
    options = _parser().parse_args(arguments)
    console = make_console()
    os.environ.update(ONE_THREAD)  # inherited by the workers, who import their libraries then
    try:
        tokenizer = read_tokenizer(options)
    except (TokenizerSourceError, ModelError) as error:
        console.print(f"tightrope bench masks: {error}", markup=False)
        return 2
    quick: dict[str, Any] = _QUICK if options.quick else {}
    cases = [
        load_cfg_case(name)
        if name in CFG_CASE_NAMES
        else load_case(
            name,
            whitespace=options.whitespace,
            num_documents=quick.get("documents", options.documents),
            seed=options.seed,
        )
        for name in quick.get("cases", options.cases)
    ]
    results = _measure_all(
        cases, tokenizer, options, quick.get("repeats", options.repeats), console
    )
    _report(results, tokenizer, list(arguments), options, console)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tightrope bench masks", description=__doc__)
    add_tokenizer_flags(parser, "smollm2-135m")
    parser.add_argument(
        "--backends",
        nargs="+",
        choices=BACKEND_NAMES,
        default=list(BACKEND_NAMES),
        metavar="NAME",
        help=f"of {', '.join(BACKEND_NAMES)} (default: all)",
    )
    parser.add_argument(
        "--cases",
        nargs="+",
        choices=_CASE_NAMES,
        default=list(_CASE_NAMES),
        metavar="NAME",
        help=f"schemas and grammars, of {', '.join(_CASE_NAMES)} (default: all)",
    )
    add_count(
        parser, "--documents", 8, "valid documents per schema (grammars have texts of their own)"
    )
    add_count(parser, "--repeats", 5, "times that each case is compiled anew")
    add_seed(parser, "documents")
    parser.add_argument(
        "--whitespace",
        choices=("compact", "single"),
        default="compact",
        help="between JSON tokens: none, or at most one space (default: %(default)s)",
    )
    add_count(parser, "--timeout", 300, "seconds per backend and case", metavar="S")
    add_clock_flag(parser)
    add_output_flag(parser, "masks.json", "masks.svg")
    parser.add_argument(
        _DEVICE_FLAG,
        action="store_true",
        help="what a decode step pays for its masks instead: 'bench device', whose flags hold then",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="two schemas with two documents each and one grammar, one repeat",
    )
    return parser


def _measure_all(
    cases: Sequence[MaskCase | CfgCase],
    tokenizer: TokenizerSource,
    options: argparse.Namespace,
    repeats: int,
    console: Console,
) -> list[MaskResult]:
    """All backends on a case right after one another, so that they share the machine's state."""
    results = []
    with make_progress(console) as progress:
        task = progress.add_task("starting", total=len(cases) * len(options.backends))
        for case in cases:
            for backend in options.backends:
                progress.update(task, description=f"{case.name}: {backend}")
                job = Job(
                    backend,
                    case,
                    tokenizer,
                    options.whitespace,
                    repeats,
                    options.timeout,
                    options.clock,
                )
                results.append(MaskResult(case.name, backend, run_job(job)))
                progress.advance(task)
    return results


def _report(
    results: Sequence[MaskResult],
    tokenizer: TokenizerSource,
    arguments: list[str],
    options: argparse.Namespace,
    console: Console,
) -> None:
    ratios = compare(results)
    console.print(result_table(results, limit_s=options.timeout))
    for line in missing_lines(results):
        console.print(line, markup=False, highlight=False)
    console.print(ratio_table(ratios))
    device_note = (
        "This is the CPU part: masks are made on the host. "
        if has_cuda()
        else "No CUDA device: the CPU part ran. "
    ) + "What a batch pays to copy, apply and advance: tightrope bench device"
    console.print(device_note)
    if options.output is None:
        return
    run = describe_run("bench masks", arguments)
    report = {
        "tokenizer": {"name": tokenizer.name, "padded_size": tokenizer.padded_size},
        "clock": options.clock.value,
        "limit_s": options.timeout,
        "clock_reading_us": round(options.clock.reading_us(), 3),
        "note": device_note,
        "results": as_json(results),
        "ratios": [asdict(peer) for peer in ratios],
    }
    write_json(options.output / "masks.json", run, report)
    processor = run["machine"]["processor"]
    caption = (
        f"{tokenizer.name}, {tokenizer.padded_size:,} rows; {processor}, one thread, "
        f"{options.clock.value} clock"
    )
    save_plot(results, options.output / "masks.svg", caption=caption)
    console.print(f"wrote {options.output}/masks.json, masks.svg", highlight=False)
