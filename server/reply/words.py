"""WordReader: matches fixed words that come piece by piece, white space between them being free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from server.calls.syntax import Words

WHITE_SPACE: Final = " \t\n\r"
"""The white space of JSON (RFC 8259, section 2)."""


class WordReader:
    """Takes one character or control token at a time.

    Args:
        words: none of them white space.
        token_tags: words that are control tokens of the model, and never spelled.

    Attributes:
        matched: the characters of the next word that were taken.
    """

    def __init__(self, words: Words, token_tags: Collection[str]) -> None:
        self._words = words
        self._token_tags = token_tags
        self._num_read = 0
        self.matched = ""

    @property
    def next_word(self) -> str | None:
        """The word that is being read; None behind the last."""
        return self._words[self._num_read] if self._num_read < len(self._words) else None

    def feed(self, unit: str) -> bool:
        """Take a character or a control token; False: it does not fit, and was not taken."""
        word = self.next_word
        assert word is not None
        if not self.matched and unit in WHITE_SPACE:
            return True
        if unit == word:
            self._num_read += 1
            return True
        if word in self._token_tags or unit != word[len(self.matched)]:
            return False
        self.matched += unit
        if self.matched == word:
            self.matched = ""
            self._num_read += 1
        return True
