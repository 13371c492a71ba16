"""Errors of the grammars room.

GrammarError
├── UnsupportedError       a keyword or syntax that we do not enforce (yet); names it and its place
├── InvalidGrammarError    the schema, pattern or structure is not well formed
├── UnsatisfiableError     well formed, but no text at all can satisfy it
├── LimitExceededError     a counted compile budget was used up
│   └── TextLimitError     by one text alone, while it was written
├── VocabularyError        the tokenizer cannot be turned into a usable vocabulary
└── BackendError           a grammar backend is missing, or cannot enforce the given spec
"""

from __future__ import annotations


class GrammarError(Exception):
    """Base of everything that grammars/ raises on purpose; `str()` stands alone as a sentence."""


class _LocatedError(GrammarError):
    """An error at a place in the caller's document.

    Args:
        reason: what is wrong and the way out, one sentence without a full stop.
        pointer: RFC 6901 JSON Pointer to the offending schema node; "" is the root.
        keyword: the schema keyword, regex construct or structure part concerned, if one is.
        place: where in a text without pointers, as "line 3, column 7".
    """

    def __init__(
        self,
        reason: str,
        *,
        pointer: str = "",
        keyword: str | None = None,
        place: str | None = None,
    ) -> None:
        self.reason = reason
        self.pointer = pointer
        self.keyword = keyword
        self.place = place
        super().__init__(f"{place or pointer or '(root)'}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.reason, self.pointer, self.keyword, self.place))


def _rebuild(
    kind: type[_LocatedError], reason: str, pointer: str, keyword: str | None, place: str | None
) -> _LocatedError:
    return kind(reason, pointer=pointer, keyword=keyword, place=place)


class UnsupportedError(_LocatedError):
    """A construct is refused by name because it is not enforced; nothing is weakened instead."""


class InvalidGrammarError(_LocatedError):
    """The spec is malformed: unknown type, bad pattern syntax, dangling $ref, ..."""


class UnsatisfiableError(_LocatedError):
    """No text can satisfy the spec, so generating under it could never end."""


class LimitExceededError(GrammarError):
    """A counted work budget of the compiler ran out (never a wall clock).

    Args:
        limit: the name of the limit, a field of `CompileLimits`.
        allowed: its value, in its unit.
        what: what was being built, a noun phrase.
    """

    def __init__(self, limit: str, allowed: int, what: str) -> None:
        self.limit = limit
        self.allowed = allowed
        self.what = what
        super().__init__(
            f"{what} needs more than {limit}={allowed}; simplify it or raise the limit"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.limit, self.allowed, self.what))


class TextLimitError(LimitExceededError):
    """One text alone has come to more places of its grammar than the tables have room for.

    Raised while the text is written, in the middle of it: fresh tables did not help.
    """


class VocabularyError(GrammarError):
    """The tokenizer cannot be used: it cannot spell every byte, or its kind is unknown."""


class BackendError(GrammarError):
    """A backend is not installed, or declares that it cannot enforce the spec."""
