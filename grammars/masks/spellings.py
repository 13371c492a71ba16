"""Spellings: all the ways to write a JSON value that differ in the order of keys alone.

A `Cursor` follows one of them byte by byte, so that it is known while a text is written which of
some earlier values it may still become.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[^"\[\]{},:]+|[\[\]{},:]', re.DOTALL)
_DIGITS: Final = re.compile(rb"\\u([0-9a-f]{4})")
_MAX_LETTERS: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """An object of at least two members.

    Args:
        members: the key with its colon, and the value, of each.
    """

    members: tuple[tuple[bytes, Form], ...]


Form: TypeAlias = "bytes | Members | tuple[Form, ...]"
"""How a value is written: bytes, an object with its members in any order, or one after another."""


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """Members of an object that have not been written yet, and whether none has."""

    members: tuple[tuple[bytes, Form], ...]
    is_first: bool


_Pending: TypeAlias = "tuple[Form | _Rest, _Pending] | None"


@dataclass(frozen=True, slots=True, eq=False)
class Cursor:
    """A place in one spelling.

    Args:
        text: bytes that come next, from `offset` on; none at the end of the spelling.
        offset: where in it.
        rest: what follows the text.
    """

    text: bytes
    offset: int
    rest: _Pending

    @property
    def is_finished(self) -> bool:
        """Whether the whole value is written."""
        return self.offset == len(self.text)

    def step(self, byte: int) -> tuple[Cursor, ...]:
        """Where the next byte leads; more than one place where a key may follow."""
        text, offset = self.text, self.offset
        if offset == len(text) or text[offset] != byte:
            return ()
        if offset + 1 < len(text):
            return (Cursor(text, offset + 1, self.rest),)
        return tuple(_unfolded(self.rest))

    def skip(self, num_bytes: int) -> Cursor:
        """Where bytes lead after which the text goes on."""
        return Cursor(self.text, self.offset + num_bytes, self.rest)


def cursors_of(form: Form) -> tuple[Cursor, ...]:
    """The beginnings of all spellings of a value."""
    if isinstance(form, bytes):
        return (Cursor(form, 0, None),)
    return tuple(_unfolded((form, None)))


def _unfolded(pending: _Pending) -> Iterator[Cursor]:
    """The places before the next byte of what is pending."""
    while pending is not None:
        form, pending = pending
        match form:
            case bytes():
                yield Cursor(form, 0, pending)
                return
            case Members(members):
                yield Cursor(b"{", 0, (_Rest(members, is_first=True), pending))
                return
            case _Rest(()):
                yield Cursor(b"}", 0, pending)
                return
            case _Rest(members, is_first):
                comma = b"" if is_first else b","
                for index, (key, value) in enumerate(members):
                    left = _Rest(members[:index] + members[index + 1 :], is_first=False)
                    yield Cursor(comma + key, 0, (value, (left, pending)))
                return
            case _:
                for part in reversed(form):
                    pending = (part, pending)
    yield Cursor(b"", 0, None)


def num_words(text: bytes) -> int:
    r"""How many words a value has for a terminal at any one place of its spellings, at most.

    There may be one of each key, with a gap behind it or none; and each digit of `\u001f` may be of
    either case.

    Args:
        text: the value in canonical spelling; perhaps not whole.
    """
    digits = b"".join(_DIGITS.findall(text))
    num_letters = sum(digit in b"abcdef" for digit in digits)
    return (1 + 2 * text.count(b'":')) << min(num_letters, _MAX_LETTERS)


def form_of(text: bytes) -> Form:
    """The form of a JSON value.

    Args:
        text: the value in canonical spelling, without whitespace; keys differ within each object.
    """
    if b"{" not in text:
        return text
    open_parts: list[list[Form]] = [[]]
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == b"{":
            open_parts.append([])
        elif token == b"}":
            closed = _object(open_parts.pop())
            open_parts[-1].append(closed)
        else:
            open_parts[-1].append(token)
    return _joined(open_parts[0])


def _object(parts: list[Form]) -> Form:
    """The form of an object, from all that stands between its braces."""
    members: list[tuple[bytes, Form]] = []
    value: list[Form] = []
    key, depth = b"", 0
    for part in [*parts, b","]:
        if part == b"," and depth == 0:
            if key:
                members.append((key, _joined(value)))
            key, value = b"", []
        elif not key.endswith(b":"):
            assert isinstance(part, bytes)
            key += part
        else:
            depth += (part == b"[") - (part == b"]")
            value.append(part)
    if len(members) > 1:
        return Members(tuple(members))
    return _joined([b"{", *(part for member in members for part in member), b"}"])


def _joined(parts: list[Form]) -> Form:
    """Parts one after the other, neighbouring bytes as one."""
    joined: list[Form] = []
    for part in parts:
        for piece in part if isinstance(part, tuple) else (part,):
            if joined and isinstance(piece, bytes) and isinstance(joined[-1], bytes):
                joined[-1] += piece
            else:
                joined.append(piece)
    return joined[0] if len(joined) == 1 else tuple(joined)
