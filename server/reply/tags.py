"""Tags in text that comes in pieces: finding whole ones, holding back what may become one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def find_tag(text: str, tags: Collection[str]) -> tuple[int, str] | None:
    """Index and spelling of the first tag in the text, None if there is none."""
    found = [(index, tag) for tag in tags if (index := text.find(tag)) >= 0]
    return min(found, default=None)


def num_held_back(text: str, tags: Collection[str]) -> int:
    """Characters at the end of the text that are the beginning of a tag, cut off."""
    longest = max(map(len, tags), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        end = text[-length:]
        if any(tag.startswith(end) for tag in tags):
            return length
    return 0
