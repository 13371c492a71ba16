"""EarlierWords: the ends that a string which is being written has in earlier texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from grammars.masks.distinct_point import DistinctPoint
from grammars.masks.json_scan import INSIDE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammars.masks.reference import PlainConfiguration
    from grammars.masks.spellings import Cursor

_WORD: Final = re.compile(rb'(?:[^"\\]|\\[^u])*"', re.DOTALL)


class EarlierWords:
    """The words at one point, each up to its quote and spelled in one way.

    Args:
        point: inside a string.
        cursors: by word and number of the frame, the places in the texts that go on with it.
    """

    def __init__(self, point: DistinctPoint, cursors: dict[bytes, dict[int, list[Cursor]]]) -> None:
        self.point = point
        self._cursors = cursors

    @classmethod
    def at(cls, point: DistinctPoint) -> EarlierWords | None:
        r"""Those of a point; None outside of strings, and where a word has a digit of `\u001f`."""
        if point.scanned != INSIDE:
            return None
        found: dict[bytes, dict[int, list[Cursor]]] = {}
        for number, frame in enumerate(point.frames):
            for cursor in frame.cursors:
                word = _WORD.match(cursor.text, cursor.offset)
                if word is None:
                    return None
                found.setdefault(word[0], {}).setdefault(number, []).append(cursor)
        return cls(point, found)

    def __len__(self) -> int:
        return len(self._cursors)

    def only(self, words: Iterable[bytes]) -> EarlierWords:
        """The same without all other words."""
        return EarlierWords(self.point, {word: self._cursors[word] for word in words})

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._cursors)

    def before_quote(self, word: bytes, plain: PlainConfiguration) -> DistinctPoint:
        """The point behind a word but for its quote, where the automaton is known to be."""
        content = word[:-1]
        frames = tuple(
            frame.fed_content(content, self._cursors[word].get(number, []))
            for number, frame in enumerate(self.point.frames)
        )
        return DistinctPoint(plain, frames, INSIDE)
