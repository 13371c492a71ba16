"""Source: the text of a grammar, the place in it, and errors that tell that place."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from grammars.errors import InvalidGrammarError, LimitExceededError, UnsupportedError

MAX_PARTS: Final = 160_000
"""Elements, operators, bars and rules of one grammar, those of regular expressions too: what
reading it costs."""

_LINE_FEED: Final = re.compile("\n")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def has_surrogate(text: str) -> bool:
    """Whether a text holds half of a character of UTF-16, which no UTF-8 spells."""
    return _SURROGATE.search(text) is not None


class Source:
    """A cursor over the text of a grammar.

    Args:
        text: the grammar.
        syntax: its name in errors, "gbnf" or "lark".

    Attributes:
        offset: of the next character.
        num_parts: counted so far.
    """

    def __init__(self, text: str, syntax: str) -> None:
        self.text = text
        self.offset = 0
        self._syntax = syntax
        self.num_parts = 0
        self._lines = [0]
        self._lines += [line.end() for line in _LINE_FEED.finditer(text)]

    @property
    def at_end(self) -> bool:
        """Whether the whole text has been taken."""
        return self.offset >= len(self.text)

    def peek(self) -> str:
        """The next character, "" at the end."""
        return self.text[self.offset : self.offset + 1]

    def starts_with(self, expected: str) -> bool:
        """Whether `expected` is next."""
        return self.text.startswith(expected, self.offset)

    def take(self) -> str:
        """The next character, "" at the end."""
        character = self.peek()
        self.offset += len(character)
        return character

    def take_if(self, expected: str) -> bool:
        """Take `expected` if it is next."""
        found = self.starts_with(expected)
        if found:
            self.offset += len(expected)
        return found

    def take_match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Take what `expression` matches here, if it does."""
        match = expression.match(self.text, self.offset)
        if match is not None:
            self.offset = match.end()
        return match

    def count_part(self) -> None:
        """Count one element, operator, bar or end of a rule.

        Raises:
            LimitExceededError: there are too many.
        """
        self.count_parts(1)

    def count_parts(self, number: int) -> None:
        """Count several at once; see `count_part`."""
        self.num_parts += number
        if self.num_parts > MAX_PARTS:
            raise LimitExceededError("max_grammar_parts", MAX_PARTS, "the grammar")

    def place(self, offset: int) -> str:
        """An offset as line and column, counted from 1."""
        line = bisect_right(self._lines, offset)
        return f"line {line}, column {offset - self._lines[line - 1] + 1}"

    def invalid(self, problem: str, offset: int) -> InvalidGrammarError:
        """The error of a malformed grammar; the problem names the way out."""
        return InvalidGrammarError(problem, keyword=self._syntax, place=self.place(offset))

    def unsupported(self, problem: str, offset: int) -> UnsupportedError:
        """The error of a well-formed construct that is refused; the problem names the way out."""
        return UnsupportedError(problem, keyword=self._syntax, place=self.place(offset))
