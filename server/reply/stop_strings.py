"""StopStrings: cuts text at the first stop string, also where it comes in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class StopStrings:
    """A filter in front of the reader: text goes through, what may become a stop string waits.

    Knuth, Morris and Pratt's machine for each string: linear in the text, whatever the cuts. Where
    several strings could stop, the one whose end comes first does.

    Args:
        stops: the strings, none of them empty; the text ends before the first that is found.

    Attributes:
        found: the string that has ended the text.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._failures = [_failure_table(stop) for stop in stops]
        self._matched = [0] * len(stops)
        self._waiting = ""
        self.found: str | None = None

    @property
    def has_stopped(self) -> bool:
        """Whether one of the strings has ended the text."""
        return self.found is not None

    def feed(self, text: str) -> str:
        """The text that is certainly before any stop string; "" once one was found."""
        if not self._stops or self.has_stopped:
            return "" if self.has_stopped else text
        for index, character in enumerate(text):
            for which in range(len(self._stops)):
                if self._advance(which, character):
                    self.found = self._stops[which]
                    before = self._waiting + text[: index + 1]
                    self._waiting = ""
                    return before[: len(before) - len(self.found)]
        text = self._waiting + text
        end = len(text) - max(self._matched)
        self._waiting = text[end:]
        return text[:end]

    def release(self) -> str:
        """What was waiting, now that the text ends or something else stands behind it."""
        waiting, self._waiting = self._waiting, ""
        self._matched = [0] * len(self._stops)
        return waiting

    def _advance(self, which: int, character: str) -> bool:
        """Move one string's machine; True when the whole string was read."""
        stop = self._stops[which]
        matched = self._matched[which]
        while matched and stop[matched] != character:
            matched = self._failures[which][matched - 1]
        matched += stop[matched] == character
        self._matched[which] = matched
        return matched == len(stop)


def _failure_table(pattern: str) -> list[int]:
    """For each prefix: the length of its longest border, a proper prefix that is also a suffix."""
    table = [0] * len(pattern)
    length = 0
    for index in range(1, len(pattern)):
        while length and pattern[index] != pattern[length]:
            length = table[length - 1]
        length += pattern[index] == pattern[length]
        table[index] = length
    return table
