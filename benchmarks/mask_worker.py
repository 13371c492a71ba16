"""One process for each backend and case, so that none affects another."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.child_process import end_with_parent
from benchmarks.clock import Clock
from benchmarks.mask_measure import MaskMeasurement, measure

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from benchmarks.cfg_cases import CfgCase
    from benchmarks.mask_cases import MaskCase
    from benchmarks.tokenizer_source import TokenizerSource
    from grammars.spec import Whitespace


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker measures.

    Args:
        backend_name: as `get_backend` takes it.
        case: the schema or grammar, and its documents.
        tokenizer: from which the worker builds its vocabulary.
        whitespace: of a schema's spec.
        repeats: fresh compiles.
        timeout_s: wall seconds for the whole job, process start included.
        clock: of the times.
    """

    backend_name: str
    case: MaskCase | CfgCase
    tokenizer: TokenizerSource
    whitespace: Whitespace
    repeats: int
    timeout_s: float
    clock: Clock = Clock.WALL


def run_job(job: Job) -> MaskMeasurement:
    """Measure in a fresh process; what kills the process, or takes too long, becomes a failure."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, sender), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(job.timeout_s):
            return MaskMeasurement(
                failure=f"no result within {job.timeout_s:g} s", is_over_limit=True
            )
        result: MaskMeasurement = receiver.recv()
    except EOFError:
        process.join()
        return MaskMeasurement(failure=f"its process died with exit code {process.exitcode}")
    else:
        return result
    finally:
        process.kill()
        process.join()


def _work(job: Job, sender: Connection) -> None:
    end_with_parent()
    sender.send(
        measure(
            job.backend_name,
            job.case,
            job.tokenizer.vocabulary(),
            whitespace=job.whitespace,
            repeats=job.repeats,
            clock=job.clock,
        )
    )
