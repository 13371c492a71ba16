"""Cases of the Berkeley Function Calling Leaderboard: a conversation, tools, and what is right."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a `category.jsonl`.

    Args:
        id: unique among all.
        category: of the leaderboard.
        messages: the conversation, as chat completions take it.
        tools: what may be called, as chat completions take them.
        original_names: of the functions, by their names on the wire.
        ground_truth: for each wanted call {original name: {argument: accepted values}}; "" among
            them means that the argument may be left out.
        expects_call: False: a right answer calls nothing.
    """

    id: str
    category: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...]
    original_names: Mapping[str, str]
    ground_truth: tuple[Mapping[str, Mapping[str, list[Any]]], ...]
    expects_call: bool

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Case:
        """A line of the data."""
        return cls(
            id=line["id"],
            category=line["category"],
            messages=tuple(line["messages"]),
            tools=tuple(line["tools"]),
            original_names=line["name_map"],
            ground_truth=tuple(line["ground_truth"]),
            expects_call=line["expect"] == "call",
        )


def read_cases(folder: Path, *, limit: int | None, seed: int) -> list[Case]:
    """The cases of every `*.jsonl` of a folder; lines without an expectation are skipped.

    The first of every file come first, then the second, so that a run that is stopped has answered
    all categories alike.

    Args:
        folder: of the files, one a category.
        limit: cases of a file at most, drawn; a higher limit draws the same and some more.
        seed: of the draw.
    """
    files = []
    for path in sorted(folder.glob("*.jsonl")):
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        found = [Case.from_json(line) for line in lines if "expect" in line]
        if limit is not None:
            random.Random(seed).shuffle(found)
        files.append(found[:limit])
    return [case for row in zip_longest(*files) for case in row if case is not None]
