"""`tightrope bench serve --soak`: four times as many requests as the server can answer, and after.

Three loads, one behind the other: the rate that the server answers, four times that, the first once
more. Then eight streams, alone and beside large schemas that compile.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from benchmarks.console import make_progress
from benchmarks.machine import describe_run
from benchmarks.report import write_json
from benchmarks.serve_client import send_all
from benchmarks.serve_server import own_server
from benchmarks.serve_work import draw_work
from benchmarks.soak_neighbours import measure_neighbours
from benchmarks.soak_report import save_soak_plot, soak_table
from benchmarks.soak_result import LoadResult, SoakReport
from benchmarks.soak_watch import SoakWatch

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from rich.console import Console

    from benchmarks.serve_client import Answer, Target

_OVERLOAD: Final = 4
_CONCURRENCY: Final = 16
_CONSTRAINED_PERCENT: Final = 50
_MAX_RUNNING: Final = 32
_MAX_WAITING: Final = 32
_FLAGS: Final = (
    "--max-waiting-requests",
    str(_MAX_WAITING),
    "--max-num-seqs",
    str(_MAX_RUNNING),
    # Prompts that are kept fill the pool, which is no leak, but looks like one.
    "--no-prefix-cache",
)


def soak(options: argparse.Namespace, arguments: list[str], console: Console) -> int:
    """Load our own server, print the table and the goals, write JSON and plots.

    Returns:
        0; 1 where a goal was missed.
    """
    flags = [*_FLAGS, *options.serve_arguments]
    with own_server(options.model or "smollm2-135m", flags, console) as (target, process_id):
        report = _measure(target, process_id, options, console)
    console.print(soak_table(report))
    for sentence, is_met in report.goals():
        console.print(f"{'met' if is_met else 'MISSED':7} {sentence}", markup=False)
    if options.output is not None:
        _write(report, options, arguments, target.model)
        console.print(f"wrote {options.output}/soak.json, soak.svg", highlight=False)
    return 0 if all(is_met for _, is_met in report.goals()) else 1


def _write(
    report: SoakReport, options: argparse.Namespace, arguments: list[str], model: str
) -> None:
    run = describe_run("bench serve", arguments)
    machine = run["machine"]
    content = {
        "model": model,
        "goals": [{"goal": goal, "met": is_met} for goal, is_met in report.goals()],
        "goodput_kept": report.goodput_kept,
        **asdict(report),
    }
    write_json(options.output / "soak.json", run, content)
    caption = f"{model}; {machine['processor']}, {machine['cores']} cores; grey: the overload"
    save_soak_plot(report, options.output / "soak.svg", caption=caption)


def _measure(
    target: Target, process_id: int, options: argparse.Namespace, console: Console
) -> SoakReport:
    with make_progress(console) as progress, SoakWatch(target, process_id, _MAX_RUNNING) as watch:
        task = progress.add_task("the rate that it answers", total=None)
        began = time.perf_counter()
        answers = asyncio.run(_send(target, options, 3 * _CONCURRENCY, None))
        rate = len(answers) / (time.perf_counter() - began)

        def load(name: str, factor: int) -> LoadResult:
            num_requests = max(_CONCURRENCY, round(rate * factor * options.soak_seconds))
            progress.update(task, description=name, total=num_requests, completed=0)
            sending = _send(
                target, options, num_requests, rate * factor, lambda: progress.advance(task)
            )
            begin_s = watch.seconds
            answers = asyncio.run(sending)
            return _load_result(name, rate * factor, answers, watch, begin_s)

        usual, overload = load("usual", 1), load(f"{_OVERLOAD} times that", _OVERLOAD)
        again = load("usual again", 1)
        progress.update(task, description="beside compiles", total=None)
        alone_ms, beside_ms = measure_neighbours(target, options.soak_seconds / 2, options.timeout)
    return SoakReport(
        usual, overload, again, _MAX_WAITING, alone_ms, beside_ms, samples=watch.samples
    )


def _load_result(
    name: str, rate: float, answers: list[Answer], watch: SoakWatch, begin_s: float
) -> LoadResult:
    end_s = watch.seconds
    shed = [answer for answer in answers if answer.fault in ("HTTP 429", "HTTP 503")]
    others = [a.fault for a in answers if a.fault and a.fault != "cut" and a not in shed]
    num_right = sum(answer.is_right or answer.fault == "cut" for answer in answers)
    shed_ms = sorted(1e3 * answer.total_s for answer in shed)
    return LoadResult(
        load=name,
        rate=rate,
        num_requests=len(answers),
        num_right=num_right,
        num_shed=len(shed),
        faults=sorted(set(others)),
        goodput=num_right / (end_s - begin_s),
        shed_p99_ms=shed_ms[int(0.99 * (len(shed_ms) - 1))] if shed_ms else None,
        most_waiting=watch.most_waiting(begin_s),
        memory_mb=watch.memory_mb(),
        begin_s=begin_s,
        end_s=end_s,
    )


async def _send(
    target: Target,
    options: argparse.Namespace,
    num_requests: int,
    rate: float | None,
    on_answer: Callable[[], None] = lambda: None,
) -> list[Answer]:
    work = draw_work(
        num_requests,
        constrained_percent=_CONSTRAINED_PERCENT,
        max_tokens=options.max_tokens,
        seed=options.seed,
    )
    return await send_all(
        target,
        work,
        concurrency=_CONCURRENCY if rate is None else None,
        rate=rate,
        seed=options.seed,
        timeout_s=options.timeout,
        on_answer=on_answer,
    )
