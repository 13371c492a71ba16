"""Summary: the outcomes of one engine on all schemas as counts and times; ratios to a peer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, assert_never

import numpy as np

from benchmarks.grammar_measure import Broken, Measured, Refused
from benchmarks.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from benchmarks.grammar_measure import Outcome

BASELINE: Final = "llguidance"
"""The engine that the others' times are divided by."""


class Verdict(Enum):
    """What became of a schema, the gravest where there are several; the value is for readers."""

    PASSING = "passing"
    COMPILE_ERROR = "compile error"
    VALID_REFUSED = "valid refused"
    INVALID_ACCEPTED = "invalid accepted"
    RAISED = "raised in a mask"
    TIMEOUT = "timeout"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Result:
    """One cell: an engine on a schema.

    Args:
        name: of the schema.
        subset: of the schema.
        num_documents: of the schema.
        engine: its name.
        outcome: what it did.
    """

    name: str
    subset: str
    num_documents: int
    engine: str
    outcome: Outcome

    def passes(self, *, with_end: bool) -> bool:
        """Whether it compiled and every document was judged right."""
        return isinstance(self.outcome, Measured) and all(
            written.is_right(with_end=with_end) for written in self.outcome.written
        )

    @property
    def verdict(self) -> Verdict:
        """By MaskBench's rule."""
        match self.outcome:
            case Refused():
                return Verdict.COMPILE_ERROR
            case Broken(is_timeout):
                return Verdict.TIMEOUT if is_timeout else Verdict.CRASH
            case Measured(written=documents):
                wrong = [one for one in documents if not one.is_right(with_end=False)]
                if not wrong:
                    return Verdict.PASSING
                if any(one.error is None and not one.is_valid for one in wrong):
                    return Verdict.INVALID_ACCEPTED
                if any(one.error is None for one in wrong):
                    return Verdict.VALID_REFUSED
                return Verdict.RAISED
            case _:
                assert_never(self.outcome)


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
    """Spreads over all schemas that compiled, or None where there are none.

    Args:
        compile_ms: MaskBench's TTFM; a timeout counts as the time limit.
        first_mask_ms: compile and first mask together; a timeout counts as the time limit.
        step_us: MaskBench's TBM, mask and commit of every token up to the first refused one.
    """

    compile_ms: Spread | None
    first_mask_ms: Spread | None
    step_us: Spread | None


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
        times=_times(measured, np.full(timeouts, limit_s * 1e9)),
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


def _errors(counts: Sequence[int]) -> Errors:
    return Errors(sum(count > 0 for count in counts), sum(counts))


def _times(measured: Sequence[Measured], timeouts_ns: NDArray[np.float64]) -> Times:
    compile_ns = np.array([one.compile_ns for one in measured], np.float64)
    ready_ns = np.array([one.compile_ns + one.first_mask_ns for one in measured], np.float64)
    steps_ns = [one.step_ns for one in measured]
    return Times(
        _spread(np.concatenate([compile_ns, timeouts_ns]) / 1e6),
        _spread(np.concatenate([ready_ns, timeouts_ns]) / 1e6),
        _spread(np.concatenate([np.zeros(0), *steps_ns]) / 1e3),
    )


def _spread(times: NDArray[np.float64]) -> Spread | None:
    return Spread.of(times) if times.size else None


@dataclass(frozen=True, slots=True)
class Ratios:
    """An engine's times over the baseline's, on the same work; below 1 it took less.

    Args:
        engine: its name.
        schemas: those that both pass by MaskBench's rule; only these are compared.
        times: name of the time (as in `Times`) -> statistic (as in `Spread`) -> ratio.
    """

    engine: str
    schemas: int
    times: Mapping[str, Mapping[str, float]]


_STATISTICS: Final = ("mean", "p50", "p90", "p99", "p99_9", "max")
_KINDS: Final = ("compile_ms", "first_mask_ms", "step_us")


def compare(results: Iterable[Result]) -> list[Ratios]:
    """The ratios of every engine but the baseline; none where the baseline did not run."""
    by_engine: dict[str, dict[str, Measured]] = {}
    for result in results:
        passed = by_engine.setdefault(result.engine, {})
        if isinstance(result.outcome, Measured) and result.passes(with_end=False):
            passed[result.name] = result.outcome
    base = by_engine.get(BASELINE, {})
    return [
        _ratios(engine, [(outcome, base[name]) for name, outcome in passed.items() if name in base])
        for engine, passed in by_engine.items()
        if engine != BASELINE and base
    ]


def _ratios(engine: str, pairs: Sequence[tuple[Measured, Measured]]) -> Ratios:
    none = np.zeros(0)
    ours, base = (_times([pair[side] for pair in pairs], none) for side in (0, 1))
    times: dict[str, dict[str, float]] = {}
    for kind in _KINDS:
        mine, other = getattr(ours, kind), getattr(base, kind)
        if mine is not None and other is not None:
            times[kind] = {name: getattr(mine, name) / getattr(other, name) for name in _STATISTICS}
    return Ratios(engine, len(pairs), times)
