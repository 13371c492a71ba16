"""SureTokens: crossing tokens of which it is known for a while that they repeat nothing.

A token like `",` ends an element, whichever it is, and goes on to the next. It is refused only if
nothing new could follow. Where there are many ways to go on that no earlier text took, a few more
texts cannot take them all: so the answer holds for all points with the same automaton state until
so many texts were added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from grammars.masks.distinct_walk import DistinctPoint, Seen

MAX_WAYS: Final = 16
"""Ways that are counted."""

_MAX_COUNTS: Final = 4096


@dataclass(frozen=True, slots=True)
class _Count:
    """What was found out about a token.

    Args:
        seen: the texts of each frame then.
        num_ways: ways to go on after the token, beside those texts and one that it ends.
    """

    seen: tuple[Seen | None, ...]
    num_ways: int


class SureTokens:
    """Bounded: all is forgotten when there is too much."""

    def __init__(self) -> None:
        self._counts: dict[tuple[object, ...], _Count] = {}

    def has(self, point: DistinctPoint, token_id: int) -> bool:
        """Whether a token is surely allowed at a point, if the text that it ends is a new one."""
        count = self._counts.get(_key(point, token_id))
        if count is None:
            return False
        *outer, seen = point.seen
        *known_outer, known = count.seen
        if not all(a is b for a, b in zip(outer, known_outer, strict=True)):
            return False
        num_added = 0
        while seen is not known and seen is not None and num_added < MAX_WAYS:
            seen, num_added = seen.before, num_added + 1
        # The text that the token ends may take one way, each that was added another.
        return seen is known and count.num_ways > num_added + 1

    def add(self, point: DistinctPoint, token_id: int, num_ways: int) -> None:
        """Keep the number of ways to go on after a token."""
        if len(self._counts) >= _MAX_COUNTS:
            self._counts.clear()
        self._counts[_key(point, token_id)] = _Count(point.seen, num_ways)


def _key(point: DistinctPoint, token_id: int) -> tuple[object, ...]:
    return (token_id, point.plain, *(frame.depth for frame in point.frames))
