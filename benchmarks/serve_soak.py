"""`tightrope bench serve --soak`: four times as many requests as the server can answer."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import httpx
import psutil
from rich.table import Table

from benchmarks.machine import describe_command, describe_machine, describe_versions
from benchmarks.options import make_progress
from benchmarks.serve_client import send_all
from benchmarks.serve_server import own_server
from benchmarks.serve_work import draw_work

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from rich.console import Console

    from benchmarks.serve_client import Answer, Target

_OVERLOAD: Final = 4
_CONCURRENCY: Final = 16
_CONSTRAINED_PERCENT: Final = 50
_MAX_SHED_MS: Final = 250
"""Reliability goal: what is not taken is told so within this time."""


@dataclass(frozen=True, slots=True)
class SoakResult:
    """One load.

    Args:
        load: its name.
        rate: requests sent a second.
        num_requests: sent.
        num_right: answered rightly; answers that the token limit cut are counted as right here.
        num_shed: answered with 429 or 503.
        faults: all other faults.
        goodput: right answers a second.
        shed_p99_ms: until a shed request was told so; None: none was.
        most_waiting: the longest queue that was seen.
        memory_mb: of the whole process tree when the load ended.
    """

    load: str
    rate: float
    num_requests: int
    num_right: int
    num_shed: int
    faults: list[str]
    goodput: float
    shed_p99_ms: float | None
    most_waiting: int
    memory_mb: float


def soak(options: argparse.Namespace, arguments: list[str], console: Console) -> int:
    """Measure the rate that the server answers, then send it at 1 and at 4 times that rate.

    Returns:
        0; 1 where the goodput at 4 times falls under 90 % of that at 1, or an answer was wrong.
    """
    flags = ["--max-waiting-requests", "32", *options.serve_arguments]
    with own_server(options.model or "smollm2-135m", flags, console) as (target, process_id):
        results = _measure(target, process_id, options, console)
    console.print(_table(results))
    usual, overload = results
    kept = overload.goodput / usual.goodput if usual.goodput else 0.0
    console.print(f"goodput at {_OVERLOAD} times the load over that at 1: {kept:.2f}")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        report = {
            "command": describe_command("serve", arguments),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe_machine(),
            "versions": describe_versions(),
            "results": [asdict(result) for result in results],
            "goodput_kept": kept,
        }
        (options.output / "soak.json").write_text(json.dumps(report, indent=2) + "\n")
    return 0 if kept >= 0.9 and not any(result.faults for result in results) else 1


def _measure(
    target: Target, process_id: int, options: argparse.Namespace, console: Console
) -> list[SoakResult]:
    with make_progress(console) as progress:
        task = progress.add_task("the rate that it answers", total=None)
        began = time.perf_counter()
        answers = asyncio.run(_send(target, options, 3 * _CONCURRENCY, None))
        rate = len(answers) / (time.perf_counter() - began)
        results = []
        for factor in (1, _OVERLOAD):
            num_requests = max(_CONCURRENCY, round(rate * factor * options.soak_seconds))
            progress.update(
                task, description=f"{factor} times that rate", total=num_requests, completed=0
            )
            load = _load(
                target,
                process_id,
                options,
                num_requests=num_requests,
                rate=rate * factor,
                on_answer=lambda: progress.advance(task),
            )
            results.append(asyncio.run(load))
    return results


async def _load(
    target: Target,
    process_id: int,
    options: argparse.Namespace,
    *,
    num_requests: int,
    rate: float,
    on_answer: Callable[[], None],
) -> SoakResult:
    watching = asyncio.create_task(_watch_queue(target))
    began = time.perf_counter()
    answers = await _send(target, options, num_requests, rate, on_answer)
    seconds = time.perf_counter() - began
    watching.cancel()
    (most_waiting,) = await asyncio.gather(watching)
    shed = [answer for answer in answers if answer.fault in ("HTTP 429", "HTTP 503")]
    others = [a.fault for a in answers if a.fault and a.fault != "cut" and a not in shed]
    num_right = sum(answer.is_right or answer.fault == "cut" for answer in answers)
    shed_ms = sorted(1e3 * answer.total_s for answer in shed)
    return SoakResult(
        load=f"{rate:.2f} a second",
        rate=rate,
        num_requests=num_requests,
        num_right=num_right,
        num_shed=len(shed),
        faults=sorted(set(others)),
        goodput=num_right / seconds,
        shed_p99_ms=shed_ms[int(0.99 * (len(shed_ms) - 1))] if shed_ms else None,
        most_waiting=most_waiting,
        memory_mb=_memory_mb(process_id),
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


async def _watch_queue(target: Target) -> int:
    """The longest queue that /metrics tells, until cancelled."""
    most = 0
    url = f"{target.url.removesuffix('/v1')}/metrics"
    async with httpx.AsyncClient(timeout=30) as client:
        try:
            while True:
                text = (await client.get(url)).text
                found = re.search(
                    r"^\S*(?:requests|sequences)_waiting\S* (\S+)$", text, re.MULTILINE
                )
                most = max(most, int(float(found[1])) if found else 0)
                await asyncio.sleep(0.5)
        except asyncio.CancelledError:
            return most


def _memory_mb(process_id: int) -> float:
    parent = psutil.Process(process_id)
    tree = [parent, *parent.children(recursive=True)]
    return float(sum(process.memory_info().rss for process in tree) / 2**20)


def _table(results: list[SoakResult]) -> Table:
    table = Table(
        title=f"Overload: {_OVERLOAD} times what the server answers",
        caption=f"Shed: answered with 429 or 503; the goal is within {_MAX_SHED_MS} ms.",
    )
    columns = ("load", "sent", "right", "shed", "goodput", "shed p99 ms", "longest queue", "MB")
    for column in columns:
        table.add_column(column, justify="left" if column == "load" else "right")
    for result in results:
        table.add_row(
            result.load,
            *map(str, (result.num_requests, result.num_right, result.num_shed)),
            f"{result.goodput:.2f}",
            "-" if result.shed_p99_ms is None else f"{result.shed_p99_ms:.0f}",
            str(result.most_waiting),
            f"{result.memory_mb:.0f}",
        )
    return table
