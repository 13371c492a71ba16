"""The run of the grammar benchmark: every engine in its process, schema by schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.console import make_progress
from benchmarks.grammar_measure import Document, Job
from benchmarks.grammar_result import Result
from benchmarks.grammar_worker import EngineProcess, EngineStartError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from rich.console import Console

    from benchmarks.grammar_data import GrammarCase, GrammarEntry
    from benchmarks.grammar_worker import WorkerSettings
    from grammars.vocabulary import Vocabulary


def start_engines(
    settings: Mapping[str, WorkerSettings], stack: ExitStack, console: Console
) -> tuple[dict[str, EngineProcess], dict[str, str]]:
    """Start the engines' processes.

    Args:
        settings: engine -> how it is measured.
        stack: ends the processes.
        console: told what is being started.

    Returns:
        The processes by engine, and why each of the others did not start.
    """
    running: dict[str, EngineProcess] = {}
    missing: dict[str, str] = {}
    for name, wanted in settings.items():
        if not wanted.engine.is_installed:
            missing[name] = f"not installed: pip install {wanted.engine.distribution}"
            continue
        with console.status(f"starting {name}"):
            try:
                running[name] = stack.enter_context(EngineProcess(wanted))
            except EngineStartError as error:
                missing[name] = f"it did not start: {error}"
    return running, missing


def measure_all(
    entries: Sequence[GrammarEntry],
    running: Mapping[str, EngineProcess],
    vocabulary: Vocabulary,
    console: Console,
) -> list[Result]:
    """All engines on a schema right after one another, so that they share the machine's state.

    Ctrl-C ends it early, with the results of the schemas that all engines are done with.
    """
    results: list[Result] = []
    with make_progress(console) as progress:
        task = progress.add_task("", total=len(entries))
        try:
            for entry in entries:
                case = entry.read()
                job = _job(case, vocabulary)
                row = []
                for name, process in running.items():
                    progress.update(task, description=f"{entry.name[:40]}: {name}")
                    outcome = process.run(job)
                    row.append(Result(case.name, case.subset, len(job.documents), name, outcome))
                results += row
                progress.advance(task)
        except KeyboardInterrupt:
            progress.console.print(f"stopped after {len(results) // len(running)} schemas")
    return results


def _job(case: GrammarCase, vocabulary: Vocabulary) -> Job:
    """The case with its documents as tokens; never a control token, whatever a text spells."""
    return Job(
        case.schema,
        tuple(
            Document(tuple(vocabulary.encode(instance.text.encode())), instance.is_valid)
            for instance in case.instances
        ),
    )
