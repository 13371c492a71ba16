"""Ratios: an engine's times over those of a peer, on the same work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.grammar_outcome import Measured
from benchmarks.grammar_summary import Times
from benchmarks.spread import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.grammar_result import Result

BASELINE: Final = "llguidance"
"""The engine that the others' times are divided by."""


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
    ours, base = (Times.of([pair[side] for pair in pairs]) for side in (0, 1))
    times: dict[str, dict[str, float]] = {}
    for kind in _KINDS:
        mine, other = getattr(ours, kind), getattr(base, kind)
        if mine is not None and other is not None:
            times[kind] = {name: getattr(mine, name) / getattr(other, name) for name in STATISTICS}
    return Ratios(engine, len(pairs), times)
