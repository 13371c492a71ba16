"""PatternReader: the text of a pattern, the place in it, and errors that tell that place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.errors import InvalidGrammarError, LimitExceededError, UnsupportedError

if TYPE_CHECKING:
    import re

MAX_PATTERN_PARTS: Final = 160_000
"""Operators, brackets, escapes, members of classes and runs of other characters, and for each
property of Unicode PROPERTY_PARTS: what reading a pattern costs."""

PROPERTY_PARTS: Final = 80


class PatternReader:
    """A cursor over a pattern.

    Args:
        text: the pattern.
        pointer: JSON Pointer of the schema node that holds it.
    """

    def __init__(self, text: str, pointer: str) -> None:
        self.text = text
        self.offset = 0
        self._pointer = pointer
        self._num_parts = 0

    @property
    def at_end(self) -> bool:
        """Whether the whole pattern has been taken."""
        return self.offset >= len(self.text)

    def count_parts(self, number: int) -> None:
        """Count some parts.

        Raises:
            LimitExceededError: there are more than MAX_PATTERN_PARTS.
        """
        self._num_parts += number
        if self._num_parts > MAX_PATTERN_PARTS:
            raise LimitExceededError("max_pattern_parts", MAX_PATTERN_PARTS, "a pattern")

    def take(self) -> str:
        """The next character, which must be there."""
        self.offset += 1
        return self.text[self.offset - 1]

    def take_if(self, expected: str) -> bool:
        """Take `expected` if it is next."""
        found = self.text.startswith(expected, self.offset)
        if found:
            self.offset += len(expected)
        return found

    def take_match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Take what `expression` matches here, if it does."""
        match = expression.match(self.text, self.offset)
        if match is not None:
            self.offset = match.end()
        return match

    def invalid(self, problem: str, offset: int) -> InvalidGrammarError:
        """The error of a malformed pattern."""
        return InvalidGrammarError(
            f"the pattern is malformed at offset {offset}: {problem}",
            pointer=self._pointer,
            keyword="pattern",
        )

    def unsupported(self, construct: str, offset: int) -> UnsupportedError:
        """The error of a well-formed construct that is not enforced."""
        return UnsupportedError(
            f"{construct} at offset {offset} of the pattern is not supported; "
            "write the pattern without it",
            pointer=self._pointer,
            keyword="pattern",
        )
