"""CallHead: reads a call up to where its arguments begin, in any format.

One character or control token at a time, so that every way of cutting the text gives the same
result, in linear time.
"""

from __future__ import annotations

import string
from enum import Enum
from typing import TYPE_CHECKING, Final

from server.calls.syntax import ArgumentForm, read_words
from server.reply.words import WHITE_SPACE, WordReader

if TYPE_CHECKING:
    from collections.abc import Collection

    from server.calls.syntax import CallSyntax, Words

_NAME_CHARACTERS: Final = frozenset(string.ascii_letters + string.digits + "_-.")


class HeadStatus(Enum):
    """What the characters so far are."""

    INCOMPLETE = "incomplete"
    ARGUMENTS = "arguments"  # they have begun: `CallHead.arguments` holds their first characters
    NO_ARGUMENTS = "no arguments"  # `{"name": "f"}` is closed: a call without any
    MALFORMED = "malformed"  # the last character does not fit; it was not taken


class CallHead:
    """The head of one call.

    JSON arguments have begun when `{` and the quote of a first key, or `}`, are there. So `{a:1}`
    and a call of an unknown function are no calls, and stay text.

    Args:
        syntax: the format.
        words: those of it that stand in front of the name and are still to come.
        names: the functions that may be called.
        token_tags: tags that are control tokens of the model.

    Attributes:
        name: the function's name, as far as it was read.
        arguments: the first characters of the arguments.
    """

    def __init__(
        self,
        syntax: CallSyntax,
        words: Words,
        names: Collection[str],
        token_tags: Collection[str],
    ) -> None:
        self._syntax = syntax
        self._names = names
        self._before = WordReader(read_words(words), token_tags)
        self._after = WordReader(read_words(syntax.before_arguments), token_tags)
        self._name_is_closed = False
        self.name = ""
        self.arguments = ""

    def feed(self, unit: str) -> HeadStatus:
        """Take one character or control token, unless it is malformed here."""
        if self._before.next_word is not None:
            return self._incomplete_if(fits=self._before.feed(unit))
        if not self._name_is_closed and unit in _NAME_CHARACTERS:
            self.name += unit
            is_known = any(name.startswith(self.name) for name in self._names)
            return self._incomplete_if(fits=is_known)
        if not self._name_is_closed and self.name not in self._names:
            return HeadStatus.MALFORMED
        self._name_is_closed = True
        if self._after.next_word is not None:
            return self._feed_after_name(unit)
        return self._feed_first_key(unit)

    def _incomplete_if(self, *, fits: bool) -> HeadStatus:
        return HeadStatus.INCOMPLETE if fits else HeadStatus.MALFORMED

    def _feed_after_name(self, unit: str) -> HeadStatus:
        is_behind_quote = self._after.next_word == "," and not self._after.matched
        if unit == "}" and is_behind_quote and self._syntax.may_lack_arguments:
            return HeadStatus.NO_ARGUMENTS
        if not self._after.feed(unit):
            return HeadStatus.MALFORMED
        is_done = self._after.next_word is None
        if is_done and self._syntax.arguments is ArgumentForm.PARAMETERS:
            return HeadStatus.ARGUMENTS
        return HeadStatus.INCOMPLETE

    def _feed_first_key(self, unit: str) -> HeadStatus:
        if not self.arguments:
            if unit == "{":
                self.arguments = unit
            return self._incomplete_if(fits=unit == "{" or unit in WHITE_SPACE)
        if unit not in WHITE_SPACE and unit not in ('"', "}"):
            return HeadStatus.MALFORMED
        self.arguments += unit
        return HeadStatus.INCOMPLETE if unit in WHITE_SPACE else HeadStatus.ARGUMENTS
