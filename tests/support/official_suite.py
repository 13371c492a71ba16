"""The JSON Schema Test Suite, judged: how many tests are right, refused or wrong, file by file.

    python -m tests.support.official_suite

writes the figures of today to tests/data/official_suite.toml, the ratchet of the tests.

What is counted, for each test of a schema that is not refused: a valid instance is *right* if it is
accepted as `json.dumps(data, ensure_ascii=False)`; it is *respelled* if it is accepted only with
its keys in the order of the grammar, and whole numbers as digits alone (docs/decisions, 0003). An
invalid instance is right if it is refused in every order of its keys.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from grammars.errors import GrammarError, UnsatisfiableError
from grammars.spec import Embed, JsonSchema
from tests.support.grammar_texts import TextJudge
from tests.support.shared_data import SHARED_DATA

if TYPE_CHECKING:
    from collections.abc import Iterator

DRAFTS: Final = ("2020-12", "7")
COLUMNS: Final = ("right", "respelled", "refused", "valid_refused", "invalid_accepted")
RATCHET: Final = Path(__file__).parents[1] / "data" / "official_suite.toml"

_DIALECTS: Final = {"7": "http://json-schema.org/draft-07/schema#"}


def suite_file(draft: str) -> Path:
    """Where the suite of a draft lies, if it is there."""
    return SHARED_DATA / "json-schema-test-suite" / f"draft{draft}.json.gz"


def suite_groups(draft: str) -> list[dict[str, Any]]:
    """The groups of a draft: `file`, `kind`, `group`, `schema` and `tests`.

    The suite leaves the dialect of older drafts to the reader: here every schema names it.
    """
    groups: list[dict[str, Any]] = json.loads(gzip.decompress(suite_file(draft).read_bytes()))
    for group in groups:
        if draft in _DIALECTS and isinstance(group["schema"], dict):
            group["schema"] = {"$schema": _DIALECTS[draft], **group["schema"]}
    return groups


def judge_suite(draft: str) -> dict[str, Counter[str]]:
    """File -> how many of its tests came out how (COLUMNS)."""
    figures: dict[str, Counter[str]] = {}
    for group in suite_groups(draft):
        figures.setdefault(group["file"], Counter()).update(_judge_group(group))
    return figures


def _judge_group(group: dict[str, Any]) -> Iterator[str]:
    try:
        judge = TextJudge(Embed(JsonSchema(json.dumps(group["schema"]))))
    except UnsatisfiableError:
        yield from ("valid_refused" if test["valid"] else "right" for test in group["tests"])
        return
    except GrammarError:
        yield from ("refused" for _ in group["tests"])
        return
    for test in group["tests"]:
        is_accepted = judge.accepts(json.dumps(test["data"], ensure_ascii=False))
        if not is_accepted and judge.accepts_in_some_order(test["data"]):
            yield "respelled" if test["valid"] else "invalid_accepted"
        elif is_accepted == test["valid"]:
            yield "right"
        else:
            yield "valid_refused" if test["valid"] else "invalid_accepted"


def main() -> None:
    lines = ["# Written by python -m tests.support.official_suite: figures file by file.\n"]
    for draft in DRAFTS:
        lines.append(f'\n["{draft}"]\n')
        for file, found in sorted(judge_suite(draft).items()):
            row = ", ".join(f"{column} = {found[column]}" for column in COLUMNS if found[column])
            lines.append(f'"{file}" = {{ {row} }}\n')
    RATCHET.write_text("".join(lines))


if __name__ == "__main__":
    main()
