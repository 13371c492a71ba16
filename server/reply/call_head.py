"""CallHead: reads the head of a Hermes tool call, up to where its arguments begin.

    {"name": "NAME", "arguments": {"

with JSON white space anywhere between the tokens. One character at a time, so that every way of
cutting the text gives the same result, in linear time.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_WHITE_SPACE = " \t\n\r"
_BEFORE_NAME = ("{", '"name"', ":", '"')
_BEFORE_ARGUMENTS = (",", '"arguments"', ":", "{")


class HeadStatus(Enum):
    """What the characters so far are."""

    INCOMPLETE = "incomplete"
    ARGUMENTS = "arguments"  # they have begun: `CallHead.arguments` holds their first characters
    NO_ARGUMENTS = "no arguments"  # `{"name": "f"}` is closed: a call without any
    MALFORMED = "malformed"  # the last character does not fit; it was not taken


class CallHead:
    """The head of one call.

    The arguments have begun when `{` and the quote of a first key, or `}`, are there. So `{a:1}`
    and a call of an unknown function are no calls, and stay text.

    Args:
        names: the functions that may be called.

    Attributes:
        name: the function's name, as far as it was read.
        arguments: the first characters of the arguments.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._tokens = list(_BEFORE_NAME)
        self._matched = ""  # of the first of `_tokens`
        self._name_is_closed = False
        self.name = ""
        self.arguments = ""

    def feed(self, character: str) -> HeadStatus:
        """Take one character, unless it is malformed here."""
        if self._tokens:
            return self._feed_token(character)
        if not self._name_is_closed:
            return self._feed_name(character)
        return self._feed_first_key(character)

    def _feed_token(self, character: str) -> HeadStatus:
        if not self._matched and character in _WHITE_SPACE:
            return HeadStatus.INCOMPLETE
        if (
            self._name_is_closed
            and len(self._tokens) == len(_BEFORE_ARGUMENTS)
            and character == "}"
        ):
            return HeadStatus.NO_ARGUMENTS
        if character != self._tokens[0][len(self._matched)]:
            return HeadStatus.MALFORMED
        self._matched += character
        if self._matched == self._tokens[0]:
            self._matched = ""
            del self._tokens[0]
            if self._name_is_closed and not self._tokens:
                self.arguments = "{"
        return HeadStatus.INCOMPLETE

    def _feed_name(self, character: str) -> HeadStatus:
        if character == '"' and self.name in self._names:
            self._name_is_closed = True
            self._tokens = list(_BEFORE_ARGUMENTS)
        elif any(name.startswith(self.name + character) for name in self._names):
            self.name += character
        else:
            return HeadStatus.MALFORMED
        return HeadStatus.INCOMPLETE

    def _feed_first_key(self, character: str) -> HeadStatus:
        if character not in _WHITE_SPACE and character not in '"}':
            return HeadStatus.MALFORMED
        self.arguments += character
        return HeadStatus.ARGUMENTS if character in '"}' else HeadStatus.INCOMPLETE
