"""`tightrope bench engine`: the same model and prompts, free, constrained, with others' masks."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from rich.table import Table
from transformers import AutoModelForCausalLM

from benchmarks.engine_runs import PEERS, run_engine, run_transformers
from benchmarks.engine_work import WORK_SETS, make_prompts
from benchmarks.machine import describe_command, describe_machine, describe_versions
from benchmarks.options import make_console, make_progress, positive
from engine.config import EngineConfig
from engine.load import load_engine
from grammars.backends.base import get_backend
from grammars.errors import GrammarError
from grammars.masks.warmup import warm_up
from grammars.spec import JsonSchema
from server.backend import load_tokenizer, make_vocabulary
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model
from server.quiet import quiet_transformers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from benchmarks.engine_runs import Run
    from benchmarks.engine_work import WorkSet

_PLAIN = "constrained, no forced text"
_FREE = "free"
_FORCED = "constrained"


def main(arguments: Sequence[str]) -> int:
    """Measure, print tables and ratios, write JSON."""
    options = _parser().parse_args(arguments)
    console = make_console()
    torch.set_num_threads(options.threads)
    folder = resolve_model(options.model, progress=TerminalProgress()).path
    quiet_transformers()
    runs: dict[str, list[Run]] = {}
    with make_progress(console) as progress:
        num_runs = 3 * (1 + options.repeats) + len(options.peers) * options.repeats
        task = progress.add_task("loading the model", total=len(WORK_SETS) * num_runs)
        bench = _Bench(folder, options, lambda: progress.advance(task))
        for work in WORK_SETS:
            progress.update(task, description=work.name)
            runs[work.name] = bench.measure(work)
    _report(runs, bench.missing, list(arguments), options, console)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tightrope bench engine", description=__doc__)
    parser.add_argument("--model", default="smollm2-135m", help="name or folder (%(default)s)")
    parser.add_argument("--batch", type=positive, default=16, help="prompts at once (%(default)s)")
    parser.add_argument("--max-tokens", type=positive, default=160, help="an answer (%(default)s)")
    parser.add_argument("--repeats", type=positive, default=2, help="the best counts (%(default)s)")
    parser.add_argument("--threads", type=positive, default=1, help="of torch (%(default)s)")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--output", type=Path, help="folder for engine.json")
    return parser


class _Bench:
    """The model, in our engine and in transformers.

    Args:
        folder: of the model.
        options: of the command.
        note: called after each run.

    Attributes:
        missing: peers that could not be measured, with the reason.
    """

    def __init__(self, folder: Path, options: argparse.Namespace, note: Callable[[], None]) -> None:
        self._options = options
        self._note = note
        self._tokenizer = load_tokenizer(folder)
        # One with forced text and one without: nothing else differs.
        self._engine, self._plain_engine = (
            load_engine(
                folder,
                EngineConfig(
                    dtype="float32",
                    device="cpu",
                    max_num_seqs=options.batch,
                    prefix_cache=False,
                    forced_text=forced_text,
                ),
            )
            for forced_text in (True, False)
        )
        self._model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="sdpa", local_files_only=True
        )
        self._vocabulary = make_vocabulary(self._tokenizer, self._engine.info)
        warm_up(self._vocabulary)
        self.missing: dict[str, str] = {}

    def measure(self, work: WorkSet) -> list[Run]:
        """All ways, in turn and `repeats` times; of each the fastest run by CPU time."""
        best: dict[str, Run] = {}
        spec = JsonSchema.from_value(work.schema)
        prompts = make_prompts(self._tokenizer, work, self._options.batch)
        grammar = get_backend().compile(spec, self._vocabulary)
        limits = [self._options.max_tokens] * len(prompts)
        for repeat in range(self._options.repeats + 1):
            plain = run_engine(
                _PLAIN, self._plain_engine, prompts, grammar=grammar, max_tokens=limits
            )
            self._note()
            lengths = [max(1, len(token_ids)) for token_ids in plain.token_ids]
            free = run_engine(_FREE, self._plain_engine, prompts, grammar=None, max_tokens=lengths)
            self._note()
            forced = run_engine(_FORCED, self._engine, prompts, grammar=grammar, max_tokens=limits)
            self._note()
            if repeat > 0:  # the first round makes whatever is made at its first use
                for run in (plain, free, forced, *self._run_peers(spec, prompts)):
                    known = best.get(run.way)
                    if known is None or run.cpu_s < known.cpu_s:
                        best[run.way] = run
        return list(best.values())

    def _run_peers(self, spec: JsonSchema, prompts: list[tuple[int, ...]]) -> list[Run]:
        runs = []
        for peer in self._options.peers:
            if peer in self.missing:
                self._note()
                continue
            try:
                runs.append(
                    run_transformers(
                        peer,
                        self._model,
                        prompts,
                        spec=spec,
                        vocabulary=self._vocabulary,
                        max_tokens=self._options.max_tokens,
                    )
                )
            except (GrammarError, ImportError) as error:
                self.missing[peer] = str(error)
            self._note()
        return runs


def _report(
    runs: dict[str, list[Run]],
    missing: dict[str, str],
    arguments: list[str],
    options: argparse.Namespace,
    console: Console,
) -> None:
    ratios: dict[str, dict[str, float]] = {}
    for name, ways in runs.items():
        console.print(_table(name, ways, options))
        ratios[name] = _ratios({run.way: run for run in ways})
        for what, ratio in ratios[name].items():
            console.print(f"{name}: {what}: {ratio:.2f}", markup=False, highlight=False)
    for peer, reason in missing.items():
        console.print(f"not measured: {peer}: {reason}", markup=False, highlight=False)
    if options.output is None:
        return
    options.output.mkdir(parents=True, exist_ok=True)
    report = {
        "command": describe_command("engine", arguments),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "versions": describe_versions(),
        "results": {name: [_figures(run) for run in ways] for name, ways in runs.items()},
        "ratios": ratios,
        "not_measured": missing,
    }
    (options.output / "engine.json").write_text(json.dumps(report, indent=2) + "\n")
    console.print(f"wrote {options.output}/engine.json", highlight=False)


def _ratios(runs: dict[str, Run]) -> dict[str, float]:
    """By CPU time: the same work in one process, whatever else the machine does."""
    plain, free, forced = runs[_PLAIN], runs[_FREE], runs[_FORCED]
    found = {
        "tokens a CPU second, constrained without forced text over free": (
            _tokens_per_cpu_s(plain) / _tokens_per_cpu_s(free)
        ),
        "tokens a CPU second, constrained over free": (
            _tokens_per_cpu_s(forced) / _tokens_per_cpu_s(free)
        ),
        "forward passes over tokens, with forced text": (
            forced.num_forward_passes / forced.num_tokens
        ),
    }
    for way, run in runs.items():
        if way not in (_PLAIN, _FREE, _FORCED) and run.num_whole:
            found[f"documents a CPU second, constrained over {way}"] = (
                forced.num_whole / forced.cpu_s
            ) / (run.num_whole / run.cpu_s)
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
