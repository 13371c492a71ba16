"""`tightrope bench serve`: a server end to end over HTTP, any that has OpenAI's API."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING

from benchmarks.console import make_console, make_progress
from benchmarks.flags import add_count, add_output_flag, add_seed, positive
from benchmarks.machine import describe_run
from benchmarks.report import write_json
from benchmarks.serve_client import send_all
from benchmarks.serve_report import fault_lines, ratio_line, result_table, save_plot
from benchmarks.serve_result import Slo, summarise
from benchmarks.serve_server import ServerNotFoundError, own_server, running_server
from benchmarks.serve_soak import soak
from benchmarks.serve_work import draw_work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from benchmarks.serve_client import Answer, Target
    from benchmarks.serve_result import ServeResult


def main(arguments: Sequence[str]) -> int:
    """Measure, print the table, write JSON and plots.

    Returns:
        0, 1 where an answer was wrong, or 2 where there is no server to measure.
    """
    options = _parser().parse_args(arguments)
    console = make_console()
    key = os.environ.get(options.key_env) if options.key_env else None
    try:
        if options.soak:
            return soak(options, list(arguments), console)
        server = (
            own_server(options.model or "smollm2-135m", options.serve_arguments, console)
            if options.url is None
            else nullcontext((running_server(options.url, options.model, key), 0))
        )
        with server as (target, _):
            results = _measure(target, options, console)
    except ServerNotFoundError as error:
        console.print(f"tightrope bench serve: {error}", markup=False)
        return 2
    _report(results, target, list(arguments), options, console)
    return 1 if any(result.faults for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tightrope bench serve", description=__doc__)
    parser.add_argument("--url", help="of a running server (default: start one of ours)")
    parser.add_argument(
        "--model", help="the name to request, or the model that our own server serves"
    )
    parser.add_argument(
        "--key-env", metavar="VARIABLE", help="environment variable that holds the API key"
    )
    _add_loads(parser)
    add_count(parser, "--max-tokens", 160, "tokens per answer")
    add_seed(parser, "requests")
    add_count(parser, "--timeout", 300, "seconds per request", metavar="S")
    _add_slo(parser)
    add_output_flag(parser, "serve.json", "serve.svg")
    parser.add_argument(
        "--soak",
        action="store_true",
        help="overload a server of ours instead: its own rate, four times that, its own rate "
        "again, then eight streams beside compiles; writes soak.json and soak.svg",
    )
    add_count(parser, "--soak-seconds", 45, "seconds of each part of --soak", metavar="S")
    parser.add_argument(
        "serve_arguments", nargs="*", metavar="-- FLAG", help="after --: flags for our own server"
    )
    return parser


def _add_loads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--constrained",
        nargs="+",
        type=int,
        default=[0, 20, 50, 80, 100],
        metavar="PERCENT",
        help="shares of constrained requests, each a load (default: 0 20 50 80 100)",
    )
    add_count(parser, "--requests", 32, "requests per load")
    parser.add_argument(
        "--concurrency",
        nargs="+",
        type=positive,
        default=[16],
        metavar="N",
        help="requests at once, each a load (default: 16)",
    )
    parser.add_argument(
        "--rate",
        nargs="+",
        type=float,
        default=[],
        metavar="R",
        help="requests per second, each a load, sent without waiting for answers; replaces "
        "--concurrency",
    )


def _add_slo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--slo-first-ms",
        type=float,
        default=1000,
        metavar="MS",
        help="goodput: time to the first piece (default: %(default)s)",
    )
    parser.add_argument(
        "--slo-token-ms",
        type=float,
        default=200,
        metavar="MS",
        help="goodput: mean time per token after it (default: %(default)s)",
    )


def _measure(target: Target, options: argparse.Namespace, console: Console) -> list[ServeResult]:
    slo = _slo(options)
    loads: list[tuple[int | None, float | None]] = [(None, rate) for rate in options.rate]
    loads = loads or [(concurrency, None) for concurrency in options.concurrency]
    results = []
    with make_progress(console) as progress:
        num_loads = len(loads) * len(options.constrained)
        task = progress.add_task("warming up", total=num_loads * options.requests)
        _send(target, options, (4, None), percent=50, num_requests=4, on_answer=lambda: None)
        for concurrency, rate in loads:
            for percent in options.constrained:
                pace = f"{concurrency} at once" if rate is None else f"{rate:g} a second"
                load = f"{percent} %, {pace}"
                progress.update(task, description=load)
                answers, seconds = _send(
                    target,
                    options,
                    (concurrency, rate),
                    percent=percent,
                    num_requests=options.requests,
                    on_answer=lambda: progress.advance(task),
                )
                results.append(
                    summarise(load, answers, constrained_percent=percent, seconds=seconds, slo=slo)
                )
    return results


def _send(
    target: Target,
    options: argparse.Namespace,
    pace: tuple[int | None, float | None],
    *,
    percent: int,
    num_requests: int,
    on_answer: Callable[[], None],
) -> tuple[list[Answer], float]:
    """Answers, and the seconds that all of them took together."""
    work = draw_work(
        num_requests,
        constrained_percent=percent,
        max_tokens=options.max_tokens,
        seed=options.seed,
    )
    began = time.perf_counter()
    answers = asyncio.run(
        send_all(
            target,
            work,
            concurrency=pace[0],
            rate=pace[1],
            seed=options.seed,
            timeout_s=options.timeout,
            on_answer=on_answer,
        )
    )
    return answers, time.perf_counter() - began


def _report(
    results: Sequence[ServeResult],
    target: Target,
    arguments: list[str],
    options: argparse.Namespace,
    console: Console,
) -> None:
    slo = _slo(options)
    console.print(result_table(results, slo))
    for line in (*fault_lines(results), ratio_line(results)):
        if line is not None:
            console.print(line, markup=False, highlight=False)
    if options.output is None:
        return
    run = describe_run("bench serve", arguments)
    machine = run["machine"]
    report = {
        "model": target.model,
        "slo": asdict(slo),
        "results": [asdict(result) for result in results],
    }
    write_json(options.output / "serve.json", run, report)
    caption = f"{target.model}; {machine['processor']}, {machine['cores']} cores"
    save_plot(results, options.output / "serve.svg", caption=caption)
    console.print(f"wrote {options.output}/serve.json, serve.svg", highlight=False)


def _slo(options: argparse.Namespace) -> Slo:
    return Slo(options.slo_first_ms, options.slo_token_ms)
