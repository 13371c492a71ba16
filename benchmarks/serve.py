"""`tightrope bench serve`: end to end over HTTP, against any server of OpenAI's API."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.machine import describe_command, describe_run
from benchmarks.options import make_console, make_progress, positive
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
    parser.add_argument("--url", help="of a running server (none: our own is started)")
    parser.add_argument("--model", help="name to ask for, or the built-in model to serve")
    parser.add_argument("--key-env", metavar="VARIABLE", help="environment variable with its key")
    parser.add_argument(
        "--constrained", nargs="+", type=int, default=[0, 20, 50, 80, 100], metavar="PERCENT"
    )
    parser.add_argument("--requests", type=positive, default=32, help="of each load (%(default)s)")
    parser.add_argument("--concurrency", nargs="+", type=positive, default=[16], metavar="N")
    parser.add_argument(
        "--rate", nargs="+", type=float, default=[], metavar="R",
        help="requests a second, in place of --concurrency: what comes does not wait for answers",
    )  # fmt: skip
    parser.add_argument("--max-tokens", type=positive, default=160, help="an answer (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=positive, default=300, help="seconds a request")
    parser.add_argument("--slo-first-ms", type=float, default=1000, help="of the goodput")
    parser.add_argument("--slo-token-ms", type=float, default=200, help="of the goodput")
    parser.add_argument(
        "--output", type=Path, help="folder for serve.json, serve.png and serve.svg"
    )
    parser.add_argument(
        "--soak", action="store_true",
        help="our own server alone: its rate, four times as much, its rate again, eight streams "
        "beside compiles; queue, memory and goodput",
    )  # fmt: skip
    parser.add_argument("--soak-seconds", type=positive, default=45, help="of each (%(default)s)")
    parser.add_argument(
        "serve_arguments", nargs="*", metavar="-- FLAG", help="behind --: flags of our own server"
    )
    return parser


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
    options.output.mkdir(parents=True, exist_ok=True)
    run = describe_run(describe_command("serve", arguments))
    machine = run["machine"]
    report = {
        **run,
        "model": target.model,
        "slo": asdict(slo),
        "results": [asdict(result) for result in results],
    }
    (options.output / "serve.json").write_text(json.dumps(report, indent=2) + "\n")
    caption = f"{target.model}; {machine['processor']}, {machine['cores']} cores"
    for suffix in ("png", "svg"):
        save_plot(results, options.output / f"serve.{suffix}", caption=caption)
    console.print(f"wrote {options.output}/serve.json, serve.png, serve.svg", highlight=False)


def _slo(options: argparse.Namespace) -> Slo:
    return Slo(options.slo_first_ms, options.slo_token_ms)
