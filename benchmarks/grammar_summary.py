"""Summary: the results of one engine on all schemas as counts and times."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.grammar_outcome import Broken, Measured, Refused
from benchmarks.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.grammar_result import Result


@dataclass(frozen=True, slots=True)
class Errors:
    """Schemas with at least one such document, and such documents."""

    schemas: int
    documents: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """How the documents were judged under one rule.

    Args:
        passing: schemas that compiled and whose documents were all judged right.
        passing_share: the same as a share, each subset weighted by its size in the benchmark.
        valid_refused: documents that ought to be written.
        invalid_accepted: documents that ought not to.
    """

    passing: int
    passing_share: float
    valid_refused: Errors
    invalid_accepted: Errors


@dataclass(frozen=True, slots=True)
class Times:
    """Spreads over schemas that compiled, or None where there are none.

    Args:
        compile_ms: MaskBench's TTFM; a timeout counts as the time limit.
        first_mask_ms: compile and first mask together; a timeout counts as the time limit.
        step_us: MaskBench's TBM, mask and commit of every token up to the first refused one.
    """

    compile_ms: Spread | None
    first_mask_ms: Spread | None
    step_us: Spread | None

    @classmethod
    def of(cls, measured: Sequence[Measured], *, timeouts: int = 0, limit_s: float = 0.0) -> Times:
        """The times of the schemas that compiled, and the limit for those that timed out."""
        limits = np.full(timeouts, limit_s * 1e9)
        compile_ns = np.array([one.compile_ns for one in measured], np.float64)
        ready_ns = np.array([one.compile_ns + one.first_mask_ns for one in measured], np.float64)
        steps_ns = [one.step_ns for one in measured]
        return cls(
            _spread(np.concatenate([compile_ns, limits]) / 1e6),
            _spread(np.concatenate([ready_ns, limits]) / 1e6),
            _spread(np.concatenate([np.zeros(0), *steps_ns]) / 1e3),
        )


@dataclass(frozen=True, slots=True)
class SubsetCount:
    """Schemas of one subset, and how many of them pass by MaskBench's rule."""

    schemas: int
    passing: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One engine.

    Args:
        engine: its name.
        schemas: how many it was given.
        with_documents: how many of them have documents; the others pass where they compile.
        prefix_rule: judged as MaskBench does, which looks at the tokens alone.
        whole_rule: judged with the end of the text, which must be allowed after the last token.
        compile_errors: schemas that it did not compile.
        documents_raised: documents at which it raised an error; never judged right.
        timeouts: schemas not done within the limit.
        crashes: schemas at which its process died.
        tokens: steps taken.
        times: spreads.
        subsets: subset -> its counts.
    """

    engine: str
    schemas: int
    with_documents: int
    prefix_rule: Judgement
    whole_rule: Judgement
    compile_errors: int
    documents_raised: Errors
    timeouts: int
    crashes: int
    tokens: int
    times: Times
    subsets: Mapping[str, SubsetCount]


def summarise(results: Sequence[Result], weights: Mapping[str, int], *, limit_s: float) -> Summary:
    """Count what one engine did.

    Args:
        results: of that engine alone, at least one.
        weights: subset -> schemas in the whole benchmark.
        limit_s: what a timeout counts as.
    """
    outcomes = [result.outcome for result in results]
    measured = [outcome for outcome in outcomes if isinstance(outcome, Measured)]
    broken = [outcome for outcome in outcomes if isinstance(outcome, Broken)]
    timeouts = sum(outcome.is_timeout for outcome in broken)
    return Summary(
        engine=results[0].engine,
        schemas=len(results),
        with_documents=sum(result.num_documents > 0 for result in results),
        prefix_rule=_judge(results, weights, with_end=False),
        whole_rule=_judge(results, weights, with_end=True),
        compile_errors=sum(isinstance(outcome, Refused) for outcome in outcomes),
        documents_raised=_errors(
            [sum(written.error is not None for written in one.written) for one in measured]
        ),
        timeouts=timeouts,
        crashes=len(broken) - timeouts,
        tokens=sum(one.step_ns.size for one in measured),
        times=Times.of(measured, timeouts=timeouts, limit_s=limit_s),
        subsets=_subsets(results),
    )


def _judge(results: Sequence[Result], weights: Mapping[str, int], *, with_end: bool) -> Judgement:
    refused, accepted = [], []
    for result in results:
        if isinstance(result.outcome, Measured):
            wrong = [
                written.is_valid
                for written in result.outcome.written
                if written.error is None and not written.is_right(with_end=with_end)
            ]
            refused.append(sum(wrong))
            accepted.append(len(wrong) - sum(wrong))
    passing = Counter(result.subset for result in results if result.passes(with_end=with_end))
    given = Counter(result.subset for result in results)
    whole = sum(weights[subset] for subset in given)
    share = sum(weights[subset] * passing[subset] / given[subset] for subset in given) / whole
    return Judgement(passing.total(), share, _errors(refused), _errors(accepted))


def _subsets(results: Sequence[Result]) -> dict[str, SubsetCount]:
    given = Counter(result.subset for result in results)
    passing = Counter(result.subset for result in results if result.passes(with_end=False))
    return {name: SubsetCount(given[name], passing[name]) for name in sorted(given)}


def _errors(counts: Sequence[int]) -> Errors:
    return Errors(sum(count > 0 for count in counts), sum(counts))


def _spread(times: NDArray[np.float64]) -> Spread | None:
    return Spread.of(times) if times.size else None
