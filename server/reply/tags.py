"""Tags in text that comes in pieces: finding whole ones, holding back what may become one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def find_tag(text: str, tags: Collection[str], start: int) -> tuple[int, str] | None:
    """Index and spelling of the first tag at or behind `start`; linear in what is looked at.

    Args:
        text: where to look.
        tags: none is a prefix of another.
        start: index into the text.
    """
    if not tags:
        return None
    found = _pattern(tuple(tags)).search(text, start)
    return None if found is None else (found.start(), found[0])


def num_held_back(text: str, start: int, tags: Collection[str]) -> int:
    """Characters at the end of the text, behind `start`, that are a cut off beginning of a tag."""
    longest = max(map(len, tags), default=1) - 1
    for length in range(min(longest, len(text) - start), 0, -1):
        end = text[-length:]
        if any(tag.startswith(end) for tag in tags):
            return length
    return 0


@lru_cache(maxsize=128)
def _pattern(tags: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, tags)))
