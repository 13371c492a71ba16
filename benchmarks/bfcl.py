"""`tightrope eval bfcl`: tool calls of a model, constrained and not, by the leaderboard's rules."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from rich.table import Table

from benchmarks.bfcl_score import Call, is_right, is_valid
from benchmarks.machine import describe_machine, describe_versions
from benchmarks.options import make_console, make_progress, positive
from engine.config import EngineConfig
from server.admission import admit_chat
from server.assembly import load_server
from server.config import ServerConfig
from server.engine_process.settings import EngineProcessConfig
from server.errors import ServerError
from server.generation import Generation
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model
from server.quiet import quiet_transformers
from server.reply.message import ReplyMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.services import Services


@dataclass(slots=True)
class Score:
    """One category, answered one way.

    Args:
        category: of the cases.
        is_constrained: whether grammars held the calls.
        num_cases: answered.
        num_right: by the rules of the leaderboard.
        num_calls: written in all.
        num_valid_calls: valid under their tool's schema.
        num_cut: answers that the token limit ended.
        num_refused: requests that the server refused.
    """

    category: str
    is_constrained: bool
    num_cases: int = 0
    num_right: int = 0
    num_calls: int = 0
    num_valid_calls: int = 0
    num_cut: int = 0
    num_refused: int = 0


def main(arguments: Sequence[str]) -> int:
    """Evaluate, print the table, write JSON.

    Returns:
        0; 1 where a constrained call is not valid under its schema; 2 where there are no cases.
    """
    options = _parser().parse_args(arguments)
    console = make_console()
    cases = _read_cases(options)
    if not cases:
        console.print(f"tightrope eval bfcl: no cases in {options.data}", markup=False)
        return 2
    folder = resolve_model(options.model, progress=TerminalProgress()).path
    quiet_transformers()
    loaded = load_server(
        folder,
        EngineConfig(max_num_seqs=options.batch),
        ServerConfig(served_names=(options.model,), generation_timeout_s=86_400),
        EngineProcessConfig(engine_process=False),
        announce=lambda _stage: None,
    )

    async def run(note: Callable[[str], None]) -> list[Score]:
        scores: list[Score] = []
        async with loaded.lifespan(FastAPI()):
            for is_constrained in (True, False) if options.unconstrained else (True,):
                scores += await _answer_all(cases, loaded.services, options, is_constrained, note)
        return scores

    with make_progress(console) as progress:
        task = progress.add_task("", total=len(cases) * (1 + options.unconstrained))
        scores = asyncio.run(
            run(lambda category: progress.update(task, advance=1, description=category))
        )
    console.print(_table(scores, options))
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        report = {
            "command": " ".join(["tightrope eval bfcl", *arguments]),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe_machine(),
            "versions": describe_versions(),
            "model": options.model,
            "scores": [asdict(score) for score in scores],
        }
        path = options.output / f"bfcl_{Path(options.model).name}.json"
        path.write_text(json.dumps(report, indent=2) + "\n")
        console.print(f"wrote {path}", highlight=False)
    constrained = [score for score in scores if score.is_constrained]
    return 0 if all(s.num_valid_calls == s.num_calls for s in constrained) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tightrope eval bfcl", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of category.jsonl files")
    parser.add_argument("--model", default="smollm2-135m", help="name or folder (%(default)s)")
    parser.add_argument("--limit", type=positive, help="cases a category (all)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw under --limit")
    parser.add_argument("--batch", type=positive, default=16, help="at once (%(default)s)")
    parser.add_argument("--max-tokens", type=positive, default=256, help="an answer (%(default)s)")
    parser.add_argument("--unconstrained", action="store_true", help="also without any grammar")
    parser.add_argument("--output", type=Path, help="folder for bfcl_MODEL.json")
    return parser


def _read_cases(options: argparse.Namespace) -> list[dict[str, Any]]:
    cases = []
    for path in sorted(options.data.glob("*.jsonl")):
        found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found = [case for case in found if "expect" in case]
        if options.limit is not None and len(found) > options.limit:
            found = random.Random(options.seed).sample(found, options.limit)
        cases += found
    return cases


async def _answer_all(
    cases: Sequence[dict[str, Any]],
    services: Services,
    options: argparse.Namespace,
    is_constrained: bool,
    note: Callable[[str], None],
) -> list[Score]:
    room = asyncio.Semaphore(options.batch)
    scores: dict[str, Score] = {}

    async def answer(case: dict[str, Any]) -> None:
        async with room:
            score = scores.setdefault(case["category"], Score(case["category"], is_constrained))
            await _answer(case, services, options, score)
        note(case["category"])

    await asyncio.gather(*map(answer, cases))
    return list(scores.values())


async def _answer(
    case: dict[str, Any], services: Services, options: argparse.Namespace, score: Score
) -> None:
    body = {
        "model": options.model,
        "messages": case["messages"],
        "tools": case["tools"],
        "temperature": 0,
        "max_tokens": options.max_tokens,
    }
    if score.is_constrained:
        body["on_length"] = "close"  # a call that the limit cuts is no call
    score.num_cases += 1
    try:
        chat = await admit_chat(body, services)
    except ServerError:
        score.num_refused += 1
        return
    if not score.is_constrained:
        chat = replace(chat, grammar=None)
    message = ReplyMessage()
    async with aclosing(Generation(chat, services).steps()) as steps:
        async for _, step in steps:
            for event in step.events:
                message.add(event)
            score.num_cut += step.finish == "length"
    calls = [Call(call.name, call.arguments) for call in message.calls if call.is_complete]
    score.num_calls += len(calls)
    score.num_valid_calls += sum(is_valid(call, case["tools"]) for call in calls)
    score.num_right += is_right(case, calls)


def _table(scores: Sequence[Score], options: argparse.Namespace) -> Table:
    table = Table(
        title=f"{options.model}: calls by the rules of the leaderboard, greedy",
        caption="Validity is guaranteed where constrained; whether a call is right is the model's.",
    )
    for column in ("category", "constrained", "right", "calls", "valid", "cut", "refused"):
        table.add_column(column, justify="left" if column == "category" else "right")
    for score in scores:
        valid = f"{100 * score.num_valid_calls / score.num_calls:.1f} %" if score.num_calls else "-"
        table.add_row(
            score.category,
            "yes" if score.is_constrained else "no",
            f"{score.num_right}/{score.num_cases}",
            str(score.num_calls),
            valid,
            str(score.num_cut),
            str(score.num_refused),
        )
    return table
