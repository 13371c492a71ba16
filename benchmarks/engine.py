"""`tightrope bench engine`: one model, free, constrained and with others' masks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import torch
from transformers import AutoModelForCausalLM

from benchmarks.console import make_console, make_progress
from benchmarks.engine_ratios import FORCED, FREE, PLAIN
from benchmarks.engine_report import report
from benchmarks.engine_runs import PEERS, EngineAnswers, run_in_turn, run_transformers
from benchmarks.engine_work import WORK_SETS, make_prompts
from benchmarks.flags import add_count, add_output_flag
from engine.config import EngineConfig
from engine.load import build_engine
from engine.model_folder import load_model
from grammars.backends.base import get_backend
from grammars.errors import GrammarError
from grammars.masks.warmup import warm_up
from grammars.spec import JsonSchema
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model
from server.quiet import quiet_transformers
from server.tokenizer import load_tokenizer, make_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchmarks.engine_ratios import Round
    from benchmarks.engine_runs import Run
    from benchmarks.engine_work import WorkSet
    from engine.engine import Engine

_WARM_UP_TOKENS = 24
"""Enough for whatever is made at its first use."""

_QUICK_PEERS = ["xgrammar's own"]


def main(arguments: Sequence[str]) -> int:
    """Measure, print tables, ratios and bars, write JSON and a plot."""
    options = _parser().parse_args(arguments)
    if options.quick:
        options.peers, options.rounds = _QUICK_PEERS, 1
    console = make_console()
    torch.set_num_threads(options.threads)
    folder = resolve_model(options.model, progress=TerminalProgress()).path
    quiet_transformers()
    rounds: dict[str, list[Round]] = {}
    with make_progress(console) as progress:
        num_runs = 1 + options.rounds * (1 + len(options.peers))
        task = progress.add_task("loading the model", total=len(WORK_SETS) * num_runs)
        bench = _Bench(folder, options, lambda: progress.advance(task))
        for work in WORK_SETS:
            progress.update(task, description=work.name)
            rounds[work.name] = bench.measure(work)
    report(rounds, bench.missing, list(arguments), options, console)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tightrope bench engine", description=__doc__)
    parser.add_argument(
        "--model", default="smollm2-135m", help="name or folder (default: %(default)s)"
    )
    add_count(parser, "--batch", 16, "prompts at once")
    add_count(parser, "--max-tokens", 160, "tokens per answer")
    add_count(parser, "--rounds", 3, "timed rounds, of whose ratios the middle one counts")
    add_count(parser, "--threads", 1, "threads of torch")
    parser.add_argument(
        "--peers",
        nargs="*",
        choices=PEERS,
        default=list(PEERS),
        metavar="NAME",
        help=f"masks for transformers' own generate, of {', '.join(PEERS)} (default: all)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="one round of what the targets need, and no more"
    )
    add_output_flag(parser, "engine.json", "engine.svg")
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
        # They share the model, which keeps nothing from step to step, and each has a pool of its
        # own, so that all three can be under way at once.
        model = load_model(folder, dtype=torch.float32)
        self._free, self._plain, self._forced = (
            build_engine(
                model,
                EngineConfig(
                    dtype="float32",
                    device="cpu",
                    max_num_seqs=options.batch,
                    prefix_cache=False,
                    forced_text=forced_text,
                ),
                name=folder.name,
            )
            for forced_text in (False, False, True)
        )
        self._model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="sdpa", local_files_only=True
        )
        self._vocabulary = make_vocabulary(self._tokenizer, self._plain.info)
        warm_up(self._vocabulary)
        self.missing: dict[str, str] = {}

    def measure(self, work: WorkSet) -> list[Round]:
        """All rounds of a set, after one that warms up and finds how long the answers are."""
        spec = JsonSchema.from_value(work.schema)
        prompts = make_prompts(self._tokenizer, work, self._options.batch)
        grammar = get_backend().compile(spec, self._vocabulary)
        max_tokens = self._options.max_tokens

        def constrained(way: str, engine: Engine, max_tokens: int) -> EngineAnswers:
            limits = [max_tokens] * len(prompts)
            return EngineAnswers(way, engine, prompts, grammar=grammar, max_tokens=limits)

        plain, _ = run_in_turn(
            [
                constrained(PLAIN, self._plain, max_tokens),
                constrained(FORCED, self._forced, min(max_tokens, _WARM_UP_TOKENS)),
            ]
        )
        self._note()
        # So free text takes as many rows through the model in each step.
        lengths = [max(1, len(token_ids)) for token_ids in plain.token_ids]
        rounds: list[Round] = []
        for _ in range(self._options.rounds):
            runs = run_in_turn(
                [
                    constrained(PLAIN, self._plain, max_tokens),
                    EngineAnswers(FREE, self._free, prompts, grammar=None, max_tokens=lengths),
                    constrained(FORCED, self._forced, max_tokens),
                ]
            )
            self._note()
            rounds.append({run.way: run for run in (*runs, *self._run_peers(spec, prompts))})
        return rounds

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
