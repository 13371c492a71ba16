"""The data of the grammar benchmark: a local checkout of MaskBench, or a file of schemas alone."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_PUBLISHED_SIZES: Final = MappingProxyType(
    {
        "BFCL": 1043, "Github_easy": 1943, "Github_hard": 1240, "Github_medium": 1976,
        "Github_trivial": 444, "Github_ultra": 164, "Glaiveai2K": 1707, "Handwritten": 147,
        "JME": 100, "JsonSchemaStore": 492, "Kubernetes": 1064, "MCPspec": 45, "Snowplow": 403,
        "Synthesized": 413, "WashingtonPost": 125,
    }
)  # fmt: skip
"""Schemas a subset in MaskBench of March 2025: the weights of a file that is itself a sample."""


class GrammarDataError(Exception):
    """The data cannot be used as given; `str()` says what to give."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A document to write.

    Args:
        text: as `json.dumps(data, ensure_ascii=False)` spells it.
        is_valid: whether the schema allows it.
    """

    text: str
    is_valid: bool


@dataclass(frozen=True, slots=True)
class GrammarCase:
    """A schema and its documents.

    Args:
        name: the file's name without suffix.
        subset: where it was collected.
        schema: parsed JSON.
        instances: valid and invalid documents, in the order of the file; may be empty.
    """

    name: str
    subset: str
    schema: Any
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class GrammarEntry:
    """Where a case is to be read from.

    Args:
        name: of the case.
        subset: of the case.
        source: a file, or the JSON text itself.
    """

    name: str
    subset: str
    source: Path | str

    def read(self) -> GrammarCase:
        """Parse it."""
        text = self.source if isinstance(self.source, str) else self.source.read_bytes()
        content = json.loads(text)
        instances = tuple(
            Instance(json.dumps(test["data"], ensure_ascii=False), test["valid"])
            for test in content["tests"]
        )
        return GrammarCase(self.name, self.subset, content["schema"], instances)


@dataclass(frozen=True, slots=True)
class GrammarData:
    """All cases.

    Args:
        entries: in order of their names.
        weights: subset -> how many schemas of it the whole benchmark has.
    """

    entries: tuple[GrammarEntry, ...]
    weights: Mapping[str, int]


def find_data(folder: Path) -> GrammarData:
    """Find the entries of a folder, parsing as little as possible.

    Args:
        folder: has MaskBench's files `SUBSET---NAME.json` (or `SUBSET_NAME.json`), or files
            `*.jsonl.gz` of lines with `id`, `dataset`, `schema` and `tests`.

    Raises:
        GrammarDataError: it holds neither.
    """
    files = sorted(folder.glob("*.json"))
    if files:
        entries = [GrammarEntry(path.stem, _subset(path.stem), path) for path in files]
        return GrammarData(tuple(entries), Counter(entry.subset for entry in entries))
    lines = [
        line
        for path in sorted(folder.glob("*.jsonl.gz"))
        for line in gzip.decompress(path.read_bytes()).decode().splitlines()
    ]
    if not lines:
        raise GrammarDataError(
            f"{folder} holds no *.json and no *.jsonl.gz; give the folder maskbench/data of a "
            "local checkout of jsonschemabench"
        )
    return GrammarData(tuple(sorted(map(_line_entry, lines), key=_name)), _PUBLISHED_SIZES)


def draw_sample(entries: Sequence[GrammarEntry], size: int, seed: int) -> tuple[GrammarEntry, ...]:
    """Draw entries subset by subset, in proportion to its size but at least one of each.

    A larger sample of the same seed holds the smaller one, but for rounding.

    Args:
        entries: to draw from.
        size: how many in all; at least the number of subsets is drawn.
        seed: equal seeds draw equal entries.
    """
    subsets: dict[str, list[GrammarEntry]] = {}
    for entry in sorted(entries, key=_name):
        subsets.setdefault(entry.subset, []).append(entry)
    drawn: list[GrammarEntry] = []
    for subset, members in subsets.items():
        count = max(1, round(size * len(members) / len(entries)))
        shuffled = random.Random(f"{seed} {subset}").sample(members, len(members))
        drawn += shuffled[:count]
    return tuple(sorted(drawn, key=_name))


def by_names(entries: Iterable[GrammarEntry], names: Sequence[str]) -> tuple[GrammarEntry, ...]:
    """The entries of these names.

    Raises:
        GrammarDataError: there is none of one of the names.
    """
    known = {entry.name: entry for entry in entries}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise GrammarDataError(f"the data has no schema named {', '.join(unknown)}")
    return tuple(known[name] for name in names)


def _subset(name: str) -> str:
    """`Github_easy---o1` -> `Github_easy`; `BFCL_java_1` -> `BFCL`."""
    before, separator, _ = name.partition("---")
    return before if separator else name.partition("_")[0]


def _line_entry(line: str) -> GrammarEntry:
    content = json.loads(line)
    return GrammarEntry(content["id"], content["dataset"], line)


def _name(entry: GrammarEntry) -> str:
    return entry.name
