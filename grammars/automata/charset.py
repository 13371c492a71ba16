"""CharSet: an immutable set of Unicode code points, kept as sorted ranges.

Surrogates U+D800..U+DFFF are not characters (Unicode 16, section 3.9, D76: scalar values) and are
never members; every operation keeps that true.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NUM_CODE_POINTS: Final = 0x110000
FIRST_SURROGATE: Final = 0xD800
LAST_SURROGATE: Final = 0xDFFF


@dataclass(frozen=True, slots=True)
class CharSet:
    """A set of code points.

    Args:
        bounds: strictly ascending, of even length; bounds[2i] is the first code point of range i
            and bounds[2i + 1] is one past its last. Ranges do not touch. Build with `from_ranges`.
    """

    bounds: tuple[int, ...]

    @classmethod
    def from_ranges(cls, ranges: Iterable[tuple[int, int]]) -> CharSet:
        """The union of inclusive ranges, in any order; surrogates in them are left out."""
        clipped: list[tuple[int, int]] = []
        for first, last in ranges:
            if last < FIRST_SURROGATE or first > LAST_SURROGATE:
                clipped.append((first, last))
                continue
            if first < FIRST_SURROGATE:
                clipped.append((first, FIRST_SURROGATE - 1))
            if last > LAST_SURROGATE:
                clipped.append((LAST_SURROGATE + 1, last))
        bounds: list[int] = []
        for first, last in sorted(clipped):
            if bounds and first <= bounds[-1]:
                bounds[-1] = max(bounds[-1], last + 1)
            elif first <= last:
                bounds += (first, last + 1)
        return cls(tuple(bounds))

    @classmethod
    def span(cls, first: int, last: int) -> CharSet:
        """The characters of first .. last, first <= last."""
        if last < FIRST_SURROGATE or first > LAST_SURROGATE:
            return cls((first, last + 1))
        return cls.from_ranges([(first, last)])

    @classmethod
    def of(cls, characters: str) -> CharSet:
        """The set of these characters."""
        return cls.from_ranges((ord(character), ord(character)) for character in characters)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The inclusive ranges, ascending."""
        return [
            (first, end - 1) for first, end in zip(self.bounds[::2], self.bounds[1::2], strict=True)
        ]

    @property
    def only_member(self) -> int | None:
        """The member of a set that has one; None for others."""
        bounds = self.bounds
        return bounds[0] if len(bounds) == 2 and bounds[1] == bounds[0] + 1 else None

    @property
    def is_empty(self) -> bool:
        """Whether there is no member."""
        return not self.bounds

    def __contains__(self, code_point: int) -> bool:
        return bisect_right(self.bounds, code_point) % 2 == 1

    def __len__(self) -> int:
        return sum(self.bounds[1::2]) - sum(self.bounds[::2])

    def union(self, other: CharSet) -> CharSet:
        """The members of either."""
        return self._combine(other, lambda a, b: a or b)

    def intersect(self, other: CharSet) -> CharSet:
        """The members of both."""
        return self._combine(other, lambda a, b: a and b)

    def difference(self, other: CharSet) -> CharSet:
        """The members of this set that are not in `other`."""
        return self._combine(other, lambda a, b: a and not b)

    def complement(self) -> CharSet:
        """All characters that are not members (surrogates are in neither)."""
        return ALL_CHARACTERS.difference(self)

    def _combine(self, other: CharSet, rule: Callable[[bool, bool], bool]) -> CharSet:
        """Sweep over both sets' bounds; keep the code points for which `rule` holds."""
        bounds: list[int] = []
        a, b = self.bounds, other.bounds
        i = j = 0
        while i < len(a) or j < len(b):
            at = min(a[i : i + 1] + b[j : j + 1])
            i += i < len(a) and a[i] == at
            j += j < len(b) and b[j] == at
            if rule(i % 2 == 1, j % 2 == 1) != (len(bounds) % 2 == 1):
                bounds.append(at)
        return CharSet(tuple(bounds))


NO_CHARACTERS: Final = CharSet(())
ALL_CHARACTERS: Final = CharSet((0, FIRST_SURROGATE, LAST_SURROGATE + 1, NUM_CODE_POINTS))
