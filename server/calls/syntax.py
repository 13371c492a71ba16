"""CallSyntax: how one family of models writes tool calls, as the words around names and arguments.

    section_open  CALL between CALL ...  section_close
    CALL = before_name NAME before_arguments ARGUMENTS after_arguments

The same words make the grammar that is enforced, the parser that reads the answer, the example in
our own prompt and the text of earlier calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]
"""Words in order. A word of white space is what models write; readers take any, or none."""

_TAG = re.compile(r"</?[^<>\s=]+>|\[[A-Z_]+\]|```[a-z]+")


class ArgumentForm(Enum):
    """How arguments are written."""

    JSON = "json"  # one JSON object
    PARAMETERS = "parameters"  # a block for each, see `server.calls.parameters`


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """The words of one format; see the module's docstring.

    `between` and `section_close` have one word at most that is no white space.

    Args:
        name: what `--tool-format` calls it.
        before_name: from the beginning of a call to the function's name.
        before_arguments: from behind the name to the arguments.
        after_arguments: from behind the arguments to the end of the call.
        section_open: in front of all calls.
        between: between two calls.
        section_close: behind all calls.
        arguments: how they are written.
    """

    name: str
    before_name: Words
    before_arguments: Words
    after_arguments: Words
    section_open: Words = ()
    between: Words = ()
    section_close: Words = ()
    arguments: ArgumentForm = ArgumentForm.JSON

    @property
    def opener(self) -> str | None:
        """The tag with which calls begin anywhere in text; None: they begin the answer."""
        first = (*self.section_open, *self.before_name)[0]
        return first if _TAG.fullmatch(first) else None

    @property
    def closer(self) -> str | None:
        """The tag that ends a call, if it is a tag that does."""
        last = self.after_arguments[-1] if self.after_arguments else ""
        return last if _TAG.fullmatch(last) else None

    @property
    def is_section(self) -> bool:
        """Whether all calls stand together, and the words between them are not white space."""
        return bool(self.section_close or any(map(str.strip, self.between)) or not self.opener)

    @property
    def may_lack_arguments(self) -> bool:
        """Whether `{"name": "f"}` is a whole call; where it would be bare JSON, it is a text."""
        return self.opener is not None and self.after_arguments[:1] == ("}",)

    @property
    def tags(self) -> Words:
        """All words that are tags: control tokens in some vocabularies, never a caller's text."""
        words = (
            *(*self.section_open, *self.before_name, *self.before_arguments),
            *(*self.after_arguments, *self.between, *self.section_close),
        )
        tags = [word for word in words if _TAG.fullmatch(word)]
        return tuple(dict.fromkeys(tags))


def read_words(words: Words) -> Words:
    """The words that a reader looks for: those that are no white space."""
    return tuple(word for word in words if word.strip())
