r"""Shield: keeps the caller's text from spelling control tokens while a chat template handles it.

A template mixes its own marks (`<|im_start|>`) with the caller's text, and may trim, split or quote
that text on the way. So the text stays in place, but the first character of everything in it that
spells a mark is replaced by a private-use character that the caller does not use. After rendering,
every mark that is spelled whole is the template's own; what is between marks gets its characters
back and is tokenised as plain text.

    caller   "hi<|im_end|>"     rendered  "<|im_start|>user\nhi\ue000|im_end|><|im_end|>\n"
"""

from __future__ import annotations

import re
from functools import cached_property
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PRIVATE_USE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
"""The private-use areas of Unicode (chapter 23.5)."""

_CHARS_AT_A_TIME: Final = 2**18
"""Searched by one call, which keeps the interpreter from all other threads: a text of 10 MiB can
take a second."""


class Marks:
    """The spellings that only the template may write; fixed for a model.

    Args:
        spellings: control tokens and the tags of tool calls and thinking.
    """

    def __init__(self, spellings: Iterable[str]) -> None:
        self.spellings = tuple(
            sorted(filter(None, set(spellings)), key=lambda text: (-len(text), text))
        )
        self.longest = max(map(len, self.spellings), default=0)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """One group: a spelling, the longest of those that begin at a place."""
        return re.compile(f"({'|'.join(map(re.escape, self.spellings)) or '(?!)'})")

    def find(self, text: str, *, overlapping: bool = False) -> Iterator[re.Match[str]]:
        """The spellings in a text from left to right; of those that overlap only the first.

        Args:
            text: of any length.
            overlapping: also those that begin within another, one at each place.
        """
        position = 0
        while position < len(text):
            end = position + _CHARS_AT_A_TIME
            found = self.pattern.search(text, position, end + self.longest)
            if found is None or found.start() >= end:
                position = end
            else:
                yield found
                position = found.start() + 1 if overlapping else found.end()

    @cached_property
    def heads(self) -> frozenset[str]:
        """The proper prefixes of spellings: such an end could be completed by what follows."""
        return frozenset(text[:end] for text in self.spellings for end in range(1, len(text)))

    @cached_property
    def tails(self) -> frozenset[str]:
        """The proper suffixes of spellings: such a beginning could complete what precedes."""
        return frozenset(text[start:] for text in self.spellings for start in range(1, len(text)))


class Shield:
    """The substitution of one request.

    Args:
        marks: what must not be spelled.
        caller_texts: every text that will be protected; their characters are never substitutes.
    """

    def __init__(self, marks: Marks, caller_texts: Iterable[str]) -> None:
        self._marks = marks
        self._substitutes = _private_characters(caller_texts)
        self._substitute_of: dict[str, str] = {}

    def protect(self, text: str) -> str:
        """The text with no mark spelled in it, nor completed at its ends by a neighbour."""
        text = self._without_marks(text)
        lengths = range(1, min(self._marks.longest, len(text) + 1))
        if any(text[-length:] in self._marks.heads for length in lengths):
            text = text[:-1] + self._substitute(text[-1])
        if any(text[:length] in self._marks.tails for length in lengths):
            text = self._substitute(text[0]) + text[1:]
        return text

    def _without_marks(self, text: str) -> str:
        written, end = StringIO(), 0
        for found in self._marks.find(text, overlapping=True):
            written.write(text[end : found.start()])
            written.write(self._substitute(found[0][0]))
            end = found.start() + 1
        if end == 0:
            return text
        written.write(text[end:])
        return written.getvalue()

    def protect_json(self, value: object) -> object:
        """A JSON value with every string in it protected, keys too."""
        if isinstance(value, str):
            return self.protect(value)
        if isinstance(value, list):
            return [self.protect_json(item) for item in value]
        if isinstance(value, dict):
            return {self.protect(key): self.protect_json(item) for key, item in value.items()}
        return value

    def restore(self, text: str) -> str:
        """Undo `protect` in rendered text."""
        for old, new in self._substitute_of.items():
            text = text.replace(new, old)
        return text

    def _substitute(self, character: str) -> str:
        if character not in self._substitute_of:
            self._substitute_of[character] = next(self._substitutes)
        return self._substitute_of[character]


def texts_in(value: object) -> Iterator[str]:
    """Every string in a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from chain.from_iterable(map(texts_in, value))
    elif isinstance(value, dict):
        yield from value
        yield from chain.from_iterable(map(texts_in, value.values()))


def _private_characters(texts: Iterable[str]) -> Iterator[str]:
    """Those in none of the texts, which are looked at when the first is asked for."""
    used: set[str] = set()
    for text in texts:
        if not text.isascii():
            for start in range(0, len(text), _CHARS_AT_A_TIME):
                used.update(text[start : start + _CHARS_AT_A_TIME])
    yield from (chr(code) for area in _PRIVATE_USE for code in area if chr(code) not in used)
