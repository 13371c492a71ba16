"""`tightrope bench engine`: one model, free, constrained and with others' masks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import torch
from transformers import AutoModelForCausalLM

from benchmarks.console import make_console, make_progress
from benchmarks.engine_report import FORCED, FREE, PLAIN, report
from benchmarks.engine_runs import PEERS, run_engine, run_transformers
from benchmarks.engine_work import WORK_SETS, make_prompts
from benchmarks.flags import add_count, add_output_flag
from engine.config import EngineConfig
from engine.load import load_engine
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

    from benchmarks.engine_runs import Run
    from benchmarks.engine_work import WorkSet

_WARM_UP_TOKENS = 24
"""Enough for whatever is made at its first use."""

_QUICK_PEERS = ["xgrammar's own"]


def main(arguments: Sequence[str]) -> int:
    """Measure, print tables, ratios and bars, write JSON and a plot."""
    options = _parser().parse_args(arguments)
    if options.quick:
        options.peers, options.repeats = _QUICK_PEERS, 1
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
    report(runs, bench.missing, list(arguments), options, console)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tightrope bench engine", description=__doc__)
    parser.add_argument(
        "--model", default="smollm2-135m", help="name or folder (default: %(default)s)"
    )
    add_count(parser, "--batch", 16, "prompts at once")
    add_count(parser, "--max-tokens", 160, "tokens per answer")
    add_count(parser, "--repeats", 2, "timed rounds, of which the fastest counts")
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
        for repeat in range(self._options.repeats + 1):
            max_tokens = self._options.max_tokens
            limits = [max_tokens if repeat else min(max_tokens, _WARM_UP_TOKENS)] * len(prompts)
            plain = run_engine(
                PLAIN, self._plain_engine, prompts, grammar=grammar, max_tokens=limits
            )
            self._note()
            lengths = [max(1, len(token_ids)) for token_ids in plain.token_ids]
            free = run_engine(FREE, self._plain_engine, prompts, grammar=None, max_tokens=lengths)
            self._note()
            forced = run_engine(FORCED, self._engine, prompts, grammar=grammar, max_tokens=limits)
            self._note()
            if repeat > 0:  # the first round warms up
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
