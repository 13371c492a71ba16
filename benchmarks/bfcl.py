"""`tightrope eval bfcl`: tool calls of models, constrained and not, by the leaderboard's rules."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

import torch
from fastapi import FastAPI

from benchmarks.bfcl_answer import AnswerFile, Mode, SettingsError
from benchmarks.bfcl_cases import read_cases
from benchmarks.bfcl_options import make_parser, name_and_format
from benchmarks.bfcl_report import Cost, as_table, mistake_rows, table_rows, write_report
from benchmarks.bfcl_result import scores_of
from benchmarks.bfcl_run import AnswerLimits, Question, answer_all
from benchmarks.console import make_console, make_progress
from engine.config import EngineConfig
from server.assembly import load_server
from server.config import ServerConfig
from server.engine_process.settings import EngineProcessConfig
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model
from server.quiet import quiet_transformers

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from benchmarks.bfcl_answer import Answer
    from benchmarks.bfcl_cases import Case
    from benchmarks.bfcl_result import Score


def main(arguments: Sequence[str]) -> int:
    """Evaluate, print the table, write the report.

    Returns:
        0; 1 where a constrained call is not valid under its schema; 2 where there are no cases,
        or the answers kept are of other settings.
    """
    options = make_parser().parse_args(arguments)
    console = make_console()
    cases = read_cases(options.data, limit=options.limit, seed=options.seed)
    if not cases:
        console.print(f"tightrope eval bfcl: no cases in {options.data}", markup=False)
        return 2
    limits = AnswerLimits(options.max_tokens, options.max_text_tokens)
    try:
        answers = AnswerFile(options.answers, asdict(limits))
    except SettingsError as error:
        console.print(f"tightrope eval bfcl: {error}", markup=False)
        return 2
    try:
        _answer_models(cases, options, limits, answers, console)
    except KeyboardInterrupt:
        console.print("stopped; this is what is there:")
    found = _scores(cases, options, answers)
    console.print(as_table("Tool calls, greedy", table_rows(found)))
    console.print(as_table("What is wrong, where a call is wanted", mistake_rows(found)))
    if options.output is not None:
        costs = [_cost(model, cases, answers) for model in options.model]
        write_report(options.output, found, costs, arguments)
        console.print(f"wrote bfcl.json, .md and .svg to {options.output}", highlight=False)
    return 0 if all(score.is_exact for score in found if score.mode is not Mode.FREE) else 1


def _answer_models(
    cases: Sequence[Case],
    options: argparse.Namespace,
    limits: AnswerLimits,
    answers: AnswerFile,
    console: Console,
) -> None:
    """Generate the missing answers, one model after the other."""
    torch.set_num_threads(options.threads)
    todo = {model: _open_questions(cases, model, options.modes, answers) for model in options.model}
    total = sum(len(question.modes) for questions in todo.values() for question in questions)
    with make_progress(console) as progress:
        task = progress.add_task("", total=total)

        def keep(answer: Answer) -> None:
            answers.keep(answer)
            progress.advance(task)

        for model, questions in todo.items():
            progress.update(task, description=model)
            if questions:
                _answer_model(questions, model, limits, options.batch, keep)


def _open_questions(
    cases: Sequence[Case], model: str, modes: Sequence[Mode], answers: AnswerFile
) -> list[Question]:
    """The cases with the modes in which a model has not answered them yet."""
    questions = [
        Question(
            case,
            tuple(
                mode
                for mode in _modes_of(case, modes)
                if answers.find(model, mode, case.id) is None
            ),
        )
        for case in cases
    ]
    return [question for question in questions if question.modes]


def _modes_of(case: Case, modes: Sequence[Mode]) -> list[Mode]:
    """The modes that suit a case; `required` only where a call is wanted."""
    return [mode for mode in modes if case.expects_call or mode is not Mode.REQUIRED]


def _answer_model(
    questions: Sequence[Question],
    model: str,
    limits: AnswerLimits,
    num_at_once: int,
    keep: Callable[[Answer], None],
) -> None:
    name, tool_format = name_and_format(model)
    folder = resolve_model(name, progress=TerminalProgress()).path
    quiet_transformers()
    loaded = load_server(
        folder,
        EngineConfig(max_num_seqs=num_at_once),
        ServerConfig(
            served_names=(model,),
            tool_format=tool_format,
            generation_timeout_s=86_400,
            queue_timeout_s=86_400,
        ),
        EngineProcessConfig(engine_process=False),
        announce=lambda _stage: None,
    )

    async def run() -> None:
        async with loaded.lifespan(FastAPI()):
            await answer_all(
                questions, model, loaded.services,
                limits=limits, num_at_once=num_at_once, keep=keep,
            )  # fmt: skip

    asyncio.run(run())


def _scores(cases: Sequence[Case], options: argparse.Namespace, answers: AnswerFile) -> list[Score]:
    found: list[Score] = []
    for model in options.model:
        for mode in options.modes:
            answered = [
                (case, answer)
                for case in cases
                if (answer := answers.find(model, mode, case.id)) is not None
            ]
            found += scores_of(model, mode, answered)
    return found


def _cost(model: str, cases: Sequence[Case], answers: AnswerFile) -> Cost:
    case_ids = {case.id for case in cases}
    made = [answer for answer in answers.of(model) if answer.case_id in case_ids]
    return Cost(model, len(made), sum(a.num_tokens for a in made), sum(a.cpu_s for a in made))
