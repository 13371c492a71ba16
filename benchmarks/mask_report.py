"""The mask benchmark's numbers: statistics, ratios to each peer, table and JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.table import Table

from benchmarks.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.mask_measure import MaskMeasurement

OURS: Final = "tightrope"


@dataclass(frozen=True, slots=True)
class MaskResult:
    """One cell: a backend on a schema or grammar."""

    case: str
    backend: str
    measurement: MaskMeasurement


RATIOS: Final[dict[str, Callable[[MaskMeasurement], float]]] = {
    "compile_and_first_mask": lambda m: m.compile_ms * 1e3 + m.first_mask_us,
    "step_mean": lambda m: Spread.of(m.step_us).mean,
    "step_p99": lambda m: Spread.of(m.step_us).p99,
    "again_mean": lambda m: Spread.of(m.again_us).mean,
}
"""Name -> the time that is compared; a ratio above 1 says that tightrope took less."""


@dataclass(frozen=True, slots=True)
class PeerRatios:
    """A peer's times over tightrope's.

    Args:
        peer: the backend.
        num_cases: cases that both wrote all valid documents of; only these count.
        ratios: name as in RATIOS -> geometric mean over these; empty where there are none.
    """

    peer: str
    num_cases: int
    ratios: dict[str, float]


def compare(results: Sequence[MaskResult]) -> list[PeerRatios]:
    """The ratios of every peer."""
    by_cell = {(result.case, result.backend): result.measurement for result in results}
    peers = dict.fromkeys(result.backend for result in results if result.backend != OURS)
    compared = []
    for peer in peers:
        pairs = [
            (measurement, by_cell[case, peer])
            for (case, backend), measurement in by_cell.items()
            if backend == OURS and _is_whole(measurement) and _is_whole(by_cell[case, peer])
        ]
        ratios = {
            name: math.exp(np.mean([math.log(time(theirs) / time(ours)) for ours, theirs in pairs]))
            for name, time in RATIOS.items()
            if pairs
        }
        compared.append(PeerRatios(peer, len(pairs), ratios))
    return compared


def _is_whole(measurement: MaskMeasurement) -> bool:
    return measurement.is_measured and measurement.valid_refused == 0


def result_table(results: Sequence[MaskResult], *, limit_s: float) -> Table:
    """One row for each case and backend.

    Args:
        results: of all.
        limit_s: what each had.
    """
    table = Table(
        title="Masks on one CPU thread", caption=f"Limit per backend and case: {limit_s:g} s."
    )
    table.add_column("case")
    table.add_column("backend")
    for heading in (
        "compile\nms", "first mask\nµs", "mask + accept\nmean µs", "p50", "p99", "max",
        "once more\nmean µs", "grammar\nMiB", "RSS\nMiB", "valid\nrefused", "invalid\naccepted",
    ):  # fmt: skip
        table.add_column(heading, justify="right")
    for index, result in enumerate(results):
        is_last = index + 1 == len(results) or results[index + 1].case != result.case
        table.add_row(result.case, result.backend, *_cells(result.measurement), end_section=is_last)
    return table


def missing_lines(results: Sequence[MaskResult]) -> list[str]:
    """Why cells are empty, one line each."""
    return [
        f"{result.case}, {result.backend}: "
        + (f"refused: {found.refusal}" if found.refusal else f"failed: {found.failure}")
        for result in results
        if not (found := result.measurement).is_measured
    ]


def ratio_table(ratios: Sequence[PeerRatios]) -> Table:
    """One row for each peer."""
    table = Table(title="Time of the peer over time of tightrope (above 1: tightrope is faster)")
    table.add_column("peer")
    table.add_column("cases", justify="right")
    for name in RATIOS:
        table.add_column(name.replace("_", " "), justify="right")
    for peer in ratios:
        cells = [f"{peer.ratios[name]:.3g}" if peer.ratios else "" for name in RATIOS]
        table.add_row(peer.peer, str(peer.num_cases), *cells)
    return table


def as_json(results: Sequence[MaskResult]) -> list[dict[str, Any]]:
    """The results as JSON values: statistics, not every step."""
    return [
        {"case": result.case, "backend": result.backend} | _values(result.measurement)
        for result in results
    ]


def _values(measurement: MaskMeasurement) -> dict[str, Any]:
    if not measurement.is_measured:
        return {"refusal": measurement.refusal, "failure": measurement.failure}
    step, again = Spread.of(measurement.step_us), Spread.of(measurement.again_us)
    return {
        "compile_ms": round(measurement.compile_ms, 4),
        "first_mask_us": round(measurement.first_mask_us, 2),
        "num_steps": len(measurement.step_us),
        "step_us": _rounded(step),
        "again_us": _rounded(again),
        "grammar_bytes": measurement.memory_bytes,
        "rss_growth_bytes": measurement.rss_bytes,
        "num_valid": measurement.num_valid,
        "valid_refused": measurement.valid_refused,
        "num_invalid": measurement.num_invalid,
        "invalid_accepted": measurement.invalid_accepted,
    }


def _rounded(spread: Spread) -> dict[str, float]:
    return {name: round(time, 2) for name, time in asdict(spread).items()}


def _cells(measurement: MaskMeasurement) -> list[str]:
    if measurement.is_over_limit:
        return ["over the limit"]
    if not measurement.is_measured:
        return ["refused" if measurement.refusal else "failed"]
    step, again = Spread.of(measurement.step_us), Spread.of(measurement.again_us)
    times = (measurement.compile_ms, measurement.first_mask_us, step.mean, step.p50, step.p99)
    return [
        *(f"{value:,.2f}" if value < 100 else f"{value:,.0f}" for value in times),
        f"{step.max:,.0f}",
        f"{again.mean:,.2f}",
        f"{measurement.memory_bytes / 2**20:,.2f}",
        f"{measurement.rss_bytes / 2**20:,.1f}",
        f"{measurement.valid_refused} of {measurement.num_valid}",
        f"{measurement.invalid_accepted} of {measurement.num_invalid}",
    ]
