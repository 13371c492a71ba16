"""`tightrope check`: whether a schema or grammar is enforced, at what cost, or why it is not."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from grammars.errors import VocabularyError
from grammars.limits import CompileLimits
from grammars.pushdown.drawing import draw
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Cfg, Embed, JsonSchema
from server.commands.check_keywords import KeywordUse
from server.commands.check_report import CheckVerdict, check_spec
from server.commands.os_errors import explain_os_error
from server.commands.schema_file import read_spec
from server.commands.vocabulary import load_vocabulary
from server.errors import ServerError
from server.models.catalog import DEFAULT_MODEL
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.spec import Regex
    from grammars.vocabulary import Vocabulary
    from server.commands.check_report import CheckReport

_HEADLINES: Final = {
    CheckVerdict.EXACT: "This is enforced completely: no output can violate it.",
    CheckVerdict.REFUSED: "This is refused:",
    CheckVerdict.UNSATISFIABLE: "This is refused, since no text satisfies it:",
}
_SHOWN_PLACES: Final = 3


def main(arguments: list[str]) -> int:
    """Compile a spec and report.

    Returns:
        0 where it is enforced, 1 where it is refused (or, with --strict-hints, hinted at), 2 where
        the file or the tokenizer cannot be read.
    """
    parsed = _parser().parse_args(arguments)
    try:
        spec = _read(parsed)
        folder = resolve_model(parsed.tokenizer, progress=TerminalProgress()).path
        vocabulary = load_vocabulary(folder)
    except (OSError, ServerError, VocabularyError) as error:  # 1 would say that it is refused
        message = explain_os_error(error) if isinstance(error, OSError) else str(error)
        sys.stderr.write(f"tightrope: {message}\n")
        return 2
    report = check_spec(spec, vocabulary)
    if parsed.json:
        print(json.dumps(_as_json(report, parsed.tokenizer), indent=2))  # noqa: T201 - its output
    else:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        for line in _lines(report, vocabulary):
            console.print(line)
    if parsed.dot is not None and report.cost is not None and not isinstance(spec, Cfg):
        Path(parsed.dot).write_text(draw_spec(spec, vocabulary), encoding="utf-8")
    is_fine = report.verdict is CheckVerdict.EXACT and not (parsed.strict_hints and report.hints)
    return 0 if is_fine else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tightrope check",
        description="Say whether a schema or grammar can be enforced, or why it is refused.",
        epilog="exit status: 0 enforced, 1 refused, 2 unreadable file or unusable tokenizer",
        allow_abbrev=False,
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a JSON Schema, or by its suffix a .gbnf, .lark or .regex file; - reads a schema from "
        "standard input",
    )
    parser.add_argument(
        "--tokenizer",
        default=DEFAULT_MODEL,
        metavar="MODEL",
        help="model whose tokens are used: built-in name, hub id, folder or .gguf file "
        "(default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="report as JSON (docs/check.md)")
    parser.add_argument(
        "--strict-hints", action="store_true", help="exit with 1 if there are hints"
    )
    parser.add_argument(
        "--dot", metavar="FILE", help="write the automaton to FILE, in Graphviz's language"
    )
    return parser


def _read(parsed: argparse.Namespace) -> JsonSchema | Regex | Cfg:
    """The spec of the file.

    Raises:
        OSError: the file cannot be read.
        ServerError: it is no text, or no JSON, or a drawing is asked for that there is not.
    """
    spec = read_spec(parsed.file)
    if isinstance(spec, Cfg) and parsed.dot is not None:
        raise ServerError("--dot draws schemas and regexes, not .gbnf and .lark; leave it out")
    return spec


def _lines(report: CheckReport, vocabulary: Vocabulary) -> Iterator[str]:
    yield _HEADLINES[report.verdict]
    for refusal in report.refusals.found:
        place = "" if refusal.pointer is None else f"{refusal.pointer or '(root)'}: "
        yield f"  {place}{refusal.reason}"
    if report.refusals.found and not report.refusals.are_all:
        yield "  (there may be more: the last one hides what follows)"
    if report.cost is not None:
        cost = report.cost
        yield (
            f"compile {cost.compile_ms:.1f} ms, first mask {cost.first_mask_ms:.1f} ms "
            f"({cost.prepare_ms:.0f} ms with what is done once)"
        )
        yield f"size: {cost.states:,} states, {cost.memory_bytes / 2**20:.2f} MiB until then"
        yield f"first token: {cost.first_tokens:,} of {len(vocabulary.token_bytes):,} are allowed"
    yield from _keyword_lines(report)
    yield from _hint_lines(report)


def _keyword_lines(report: CheckReport) -> Iterator[str]:
    """A line for each keyword and use, annotations aside."""
    places = defaultdict(list)
    for found in report.keywords:
        if found.use is not KeywordUse.ANNOTATION:
            places[found.use, found.keyword].append(found.pointer or "(root)")
    if places:
        yield "keywords:"
    for (use, keyword), pointers in sorted(places.items(), key=lambda item: item[0][0].value):
        yield f"  {use.value:9} {keyword:22} {_some(pointers)}"


def _hint_lines(report: CheckReport) -> Iterator[str]:
    """A line for each different hint."""
    places = defaultdict(list)
    for hint in report.hints:
        places[hint.message].append(hint.pointer or "(root)")
    if places:
        yield "hints:"
    for message, pointers in places.items():
        yield f"  {_some(pointers)}: {message}"


def _some(pointers: list[str]) -> str:
    """The first few places, and how many more there are."""
    rest = len(pointers) - _SHOWN_PLACES
    return ", ".join(pointers[:_SHOWN_PLACES]) + (f" and {rest:,} more" if rest > 0 else "")


def _as_json(report: CheckReport, tokenizer: str) -> dict[str, Any]:
    """The report as docs/check.md describes it."""
    return {
        "version": 1,
        "verdict": report.verdict.value,
        "refusals": [asdict(one) | {"kind": one.kind.value} for one in report.refusals.found],
        "are_all_refusals": report.refusals.are_all,
        "tokenizer": tokenizer,
        "cost": None if report.cost is None else _rounded(asdict(report.cost)),
        "keywords": [asdict(one) | {"use": one.use.value} for one in report.keywords],
        "hints": [asdict(one) | {"kind": one.kind.value} for one in report.hints],
    }


def _rounded(values: dict[str, float]) -> dict[str, float]:
    """Times to the microsecond; counts stay integers."""
    return {name: round(value, 3) for name, value in values.items()}


def draw_spec(spec: JsonSchema | Regex, vocabulary: Vocabulary) -> str:
    """The automaton in Graphviz's language."""
    limits = CompileLimits()
    tables = AutomatonTables(max_bytes=limits.max_table_bytes)
    return draw(StructuralStates(Embed(spec), tables, vocabulary, limits), tables)
