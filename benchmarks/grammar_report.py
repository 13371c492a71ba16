"""The grammar benchmark's tables and JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from benchmarks.grammar_ratios import BASELINE
from benchmarks.spread import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.grammar_ratios import Ratios
    from benchmarks.grammar_summary import Errors, Judgement, Summary
    from benchmarks.spread import Spread

_COUNTS: Final[Mapping[str, Callable[[Summary], str]]] = {
    "schemas": lambda s: f"{s.schemas:,}",
    "with documents": lambda s: f"{s.with_documents:,}",
    "passing": lambda s: _share(s.prefix_rule.passing, s.schemas),
    "passing, weighted by subset": lambda s: f"{s.prefix_rule.passing_share:.1%}",
    "compile error": lambda s: f"{s.compile_errors:,}",
    "valid refused": lambda s: _errors(s.prefix_rule.valid_refused),
    "invalid accepted": lambda s: _errors(s.prefix_rule.invalid_accepted),
    "raised in a mask": lambda s: _errors(s.documents_raised),
    "timeout": lambda s: f"{s.timeouts:,}",
    "crash": lambda s: f"{s.crashes:,}",
}
_WITH_END: Final[Mapping[str, Callable[[Judgement], str]]] = {
    "passing, weighted by subset": lambda j: f"{j.passing_share:.1%}",
    "valid refused": lambda j: _errors(j.valid_refused),
    "invalid accepted": lambda j: _errors(j.invalid_accepted),
}
_TIMES: Final[Mapping[str, str]] = {
    "compile_ms": "compile (TTFM), ms",
    "first_mask_ms": "compile + first mask, ms",
    "step_us": "mask + commit (TBM), µs",
}


def summary_table(summaries: Sequence[Summary]) -> Table:
    """A column for each engine, a row for each figure."""
    table = Table(title="MaskBench's rules; in brackets documents")
    table.add_column("")
    for summary in summaries:
        table.add_column(summary.engine, justify="right")
    for label, count in _COUNTS.items():
        table.add_row(label, *map(count, summaries))
    table.add_section()
    for label, judged in _WITH_END.items():
        cells = [judged(summary.whole_rule) for summary in summaries]
        table.add_row(f"end of text checked: {label}", *cells)
    for kind, title in _TIMES.items():
        table.add_section()
        for statistic in STATISTICS:
            cells = [_time(getattr(summary.times, kind), statistic) for summary in summaries]
            table.add_row(f"{title}, {_label(statistic)}", *cells)
    table.add_row("tokens", *(f"{summary.tokens:,}" for summary in summaries))
    return table


def ratio_table(ratios: Sequence[Ratios]) -> Table:
    """A row for each engine and time."""
    table = Table(title=f"Time over {BASELINE}'s on schemas that both pass (below 1: faster)")
    for heading in ("engine", "schemas", "time"):
        table.add_column(heading)
    for statistic in STATISTICS:
        table.add_column(_label(statistic), justify="right")
    for peer in ratios:
        for kind, by_statistic in peer.times.items():
            cells = [f"{by_statistic[statistic]:.3g}" for statistic in STATISTICS]
            table.add_row(peer.engine, f"{peer.schemas:,}", _TIMES[kind], *cells)
    return table


def summary_json(summary: Summary) -> dict[str, Any]:
    """JSON values; times rounded to what they mean."""
    values = asdict(summary)
    values["times"] = {
        kind: None if spread is None else {name: round(time, 4) for name, time in spread.items()}
        for kind, spread in values["times"].items()
    }
    return values


def _share(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.1%})"


def _errors(errors: Errors) -> str:
    """Schemas, and documents in brackets."""
    return f"{errors.schemas:,} [{errors.documents:,}]"


def _time(spread: Spread | None, statistic: str) -> str:
    if spread is None:
        return ""
    value: float = getattr(spread, statistic)
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def _label(statistic: str) -> str:
    return statistic.replace("_", ".")
