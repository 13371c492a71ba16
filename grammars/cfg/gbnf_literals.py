"""Literals and character classes of GBNF."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from grammars.automata.charset import NUM_CODE_POINTS, CharSet
from grammars.automata.pattern_ast import Characters
from grammars.cfg.source import has_surrogate
from grammars.cfg.syntax import Text, literal

if TYPE_CHECKING:
    from grammars.cfg.source import Source

_PLAIN: Final = re.compile(r'[^"\\]+')
_PLAIN_LITERAL: Final = re.compile(r'"([^"\\]*)"')
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "[": "[", "]": "]"}
_HEX_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
_HEX: Final = re.compile(r"[0-9A-Fa-f]+")


def read_literal(source: Source) -> Text:
    """The literal whose opening quote is next."""
    offset = source.offset
    whole = source.take_match(_PLAIN_LITERAL)
    text = _escaped_literal(source) if whole is None else whole[1]
    if has_surrogate(text):
        raise source.invalid("the literal holds a lone surrogate, no character", offset)
    return Text(literal(text), repr(text))


def _escaped_literal(source: Source) -> str:
    """The text of the literal whose opening quote is next."""
    offset = source.offset
    source.take()
    characters: list[str] = []
    while not source.take_if('"'):
        plain = source.take_match(_PLAIN)
        if plain is not None:
            characters.append(plain[0])
        elif source.at_end:
            raise source.invalid("the literal is never closed; add '\"'", offset)
        else:
            characters.append(_escape(source))
    return "".join(characters)


def read_class(source: Source) -> Text:
    """The class whose opening bracket is next."""
    offset = source.offset
    source.take()
    is_negated = source.take_if("^")
    ranges: list[tuple[int, int]] = []
    while not source.take_if("]"):
        start = source.offset
        first = _class_character(source, offset)
        last = first
        if source.peek() == "-" and not source.starts_with("-]"):
            source.take()
            last = _class_character(source, offset)
        if ord(first) > ord(last):
            raise source.invalid("the range of the class is out of order", start)
        ranges.append((ord(first), ord(last)))
    members = CharSet.from_ranges(ranges)
    name = source.text[offset : source.offset]
    return Text(Characters(members.complement() if is_negated else members), name)


def _class_character(source: Source, offset: int) -> str:
    if source.at_end:
        raise source.invalid("the class is never closed; add ']'", offset)
    return _escape(source) if source.peek() == "\\" else source.take()


def _escape(source: Source) -> str:
    """The character of an escape."""
    offset = source.offset
    source.take()
    letter = source.take()
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    size = _HEX_DIGITS.get(letter)
    if size is None:
        raise source.invalid(
            f"unknown escape '\\{letter}'; there are \\n \\t \\r \\\" \\\\ \\[ \\] \\xHH "
            "\\uHHHH \\UHHHHHHHH",
            offset,
        )
    digits = source.text[source.offset : source.offset + size]
    source.offset += len(digits)
    if len(digits) < size or not _HEX.fullmatch(digits):
        raise source.invalid(f"'\\{letter}' needs {size} hexadecimal digits", offset)
    code_point = int(digits, 16)
    if code_point >= NUM_CODE_POINTS or 0xD800 <= code_point <= 0xDFFF:
        raise source.invalid(f"'\\{letter}{digits}' is no character of Unicode", offset)
    return chr(code_point)
