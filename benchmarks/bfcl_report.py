"""The report of the evaluation: its tables for the terminal and in Markdown, and its JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.bfcl_answer import Mode
from benchmarks.bfcl_result import ALL
from benchmarks.machine import describe_run
from benchmarks.report import write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.bfcl_result import Score

_NUM_TEXT_COLUMNS = 2


@dataclass(frozen=True, slots=True)
class Cost:
    """What the answers of one model have cost.

    Args:
        model: its name.
        num_answers: made.
        num_tokens: generated.
        cpu_s: CPU seconds of the process, prompts included, loading not.
    """

    model: str
    num_answers: int
    num_tokens: int
    cpu_s: float


def write_report(
    folder: Path, scores: Sequence[Score], costs: Sequence[Cost], arguments: Sequence[str]
) -> None:
    """Write bfcl.json, bfcl.md and bfcl.svg, each with the command and the machine."""
    from benchmarks.bfcl_plot import save_plot  # a second of import that only the report needs

    run = describe_run("eval bfcl", arguments)
    machine = run["machine"]
    content = {
        "costs": [asdict(cost) for cost in costs],
        "scores": [asdict(score) for score in scores],
    }
    write_json(folder / "bfcl.json", run, content)
    place = f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB"
    spent = [
        f"{cost.model}: {cost.num_answers} answers, {cost.num_tokens} tokens, "
        f"{cost.cpu_s / 60:.1f} CPU minutes"
        for cost in costs
    ]
    parts = [
        "# Tool calls, greedy\n",
        f"    {run['command']}\n",
        f"{place}; {run['date']}. {'; '.join(spent)}.\n",
        as_markdown(table_rows(scores)),
        "What is wrong, where a call is wanted:\n",
        as_markdown(mistake_rows(scores)),
    ]
    (folder / "bfcl.md").write_text("\n".join(parts), encoding="utf-8")
    save_plot(scores, folder / "bfcl.svg", caption=place)


def table_rows(scores: Sequence[Score]) -> list[list[str]]:
    """Head and rows of the table: model and category, then right and valid calls of each mode."""
    modes = [mode for mode in Mode if any(found.mode is mode for found in scores)]
    head = ["model", "category"]
    head += [f"{name}: {mode}" for name in ("right", "valid") for mode in modes]
    rows = [head]
    places = dict.fromkeys((found.model, found.category) for found in scores)
    for model, category in places:
        found = {s.mode: s for s in scores if (s.model, s.category) == (model, category)}
        row = [model, "all that want a call" if category == ALL else category]
        row += [_right(found.get(mode)) for mode in modes]
        row += [_valid(found.get(mode)) for mode in modes]
        rows.append(row)
    return rows


def mistake_rows(scores: Sequence[Score]) -> list[list[str]]:
    """Head and rows of the mistakes, over all cases that want a call."""
    totals = [found for found in scores if found.category == ALL]
    names = list(dict.fromkeys(name for total in totals for name in total.mistakes))
    rows = [["model", "mode", *names, "cut", "refused"]]
    rows += [
        [
            total.model, total.mode, *(str(total.mistakes.get(name, 0)) for name in names),
            str(total.num_cut), str(total.num_refused),
        ]
        for total in totals
    ]  # fmt: skip
    return rows


def as_table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """Rows for the terminal."""
    head, *rest = rows
    table = Table(title=title)
    for index, name in enumerate(head):
        table.add_column(name, justify="left" if index < _NUM_TEXT_COLUMNS else "right")
    for row in rest:
        table.add_row(*row)
    return table


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of Markdown."""
    head, *rest = rows
    rule = ["---" if index < _NUM_TEXT_COLUMNS else "---:" for index in range(len(head))]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rest))


def _right(found: Score | None) -> str:
    if found is None or found.num_cases == 0:
        return "-"
    return (
        f"{found.num_right} of {found.num_cases} ({100 * found.num_right / found.num_cases:.0f} %)"
    )


def _valid(found: Score | None) -> str:
    return "-" if found is None else f"{found.num_valid_calls} of {found.num_calls}"
