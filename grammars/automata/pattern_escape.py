r"""Escapes in patterns: ECMA-262, section 22.2.1, CharacterEscape and CharacterClassEscape."""

from __future__ import annotations

import re
from typing import Final

from grammars.automata.charset import NUM_CODE_POINTS, CharSet
from grammars.automata.pattern_reader import PROPERTY_PARTS, PatternReader
from grammars.automata.unicode_sets import (
    CLASS_ESCAPES,
    MissingPropertyError,
    UnknownPropertyError,
    property_set,
)

_CONTROL_ESCAPES: Final = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}
_HEX_2: Final = re.compile(r"[0-9A-Fa-f]{2}")
_HEX_4: Final = re.compile(r"[0-9A-Fa-f]{4}")
_HEX_BRACED: Final = re.compile(r"\{([0-9A-Fa-f]+)\}")
_LOW_SURROGATE: Final = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_LETTER: Final = re.compile(r"[A-Za-z]")
_DIGITS: Final = re.compile(r"[0-9]+")
_PROPERTY: Final = re.compile(r"\{(\w+)(?:=(\w+))?\}", re.ASCII)


def parse_escape(reader: PatternReader, offset: int, *, in_class: bool) -> CharSet:
    """The set of an escape whose backslash, at `offset`, has been taken.

    Raises:
        InvalidGrammarError: not an escape of ECMA-262.
        UnsupportedError: a backreference or a property that our data lacks.
    """
    if reader.at_end:
        raise reader.invalid("a backslash escapes nothing", offset)
    letter = reader.take()
    if letter in CLASS_ESCAPES:
        return CLASS_ESCAPES[letter]
    if letter in _CONTROL_ESCAPES:
        return _one(_CONTROL_ESCAPES[letter])
    if not letter.isalnum():
        if letter.isascii():
            return _one(ord(letter))
        raise reader.invalid(f"{letter!r} needs no backslash", offset)
    match letter:
        case "b" if in_class:
            return _one(0x08)
        case "k" if not in_class:
            raise reader.unsupported("the backreference '\\k'", offset)
        case "c":
            control = reader.take_match(_LETTER)
            if control is not None:
                return _one(ord(control[0]) % 32)
        case "x":
            digits = reader.take_match(_HEX_2)
            if digits is not None:
                return _one(int(digits[0], 16))
        case "u":
            return _one(_unicode_escape(reader, offset))
        case "p" | "P":
            members = _property(reader, offset)
            return members.complement() if letter == "P" else members
        case _ if letter in "0123456789":
            return _decimal_escape(reader, offset, letter, in_class=in_class)
        case _:
            pass
    raise reader.invalid(f"unknown escape '\\{letter}'", offset)


def _one(code_point: int) -> CharSet:
    """The set of one code point; empty for a surrogate, which no text holds."""
    return CharSet.span(code_point, code_point)


def _unicode_escape(reader: PatternReader, offset: int) -> int:
    r"""The code point of \uHHHH, of two that are a surrogate pair, or of \u{H...}."""
    braced = reader.take_match(_HEX_BRACED)
    if braced is not None:
        digits = braced[1].lstrip("0") or "0"
        if len(digits) > 6 or int(digits, 16) >= NUM_CODE_POINTS:
            raise reader.invalid("the code point is greater than U+10FFFF", offset)
        return int(digits, 16)
    match = reader.take_match(_HEX_4)
    if match is None:
        raise reader.invalid("'\\u' needs four hexadecimal digits or {...}", offset)
    unit = int(match[0], 16)
    if 0xD800 <= unit < 0xDC00:
        low = reader.take_match(_LOW_SURROGATE)
        if low is not None:
            return 0x10000 + ((unit - 0xD800) << 10) + int(low[1], 16) - 0xDC00
    return unit


def _property(reader: PatternReader, offset: int) -> CharSet:
    match = reader.take_match(_PROPERTY)
    if match is None:
        raise reader.invalid("'\\p' needs {Property} or {Property=Value}", offset)
    reader.count_parts(PROPERTY_PARTS)
    try:
        return property_set(match[1], match[2])
    except UnknownPropertyError as error:
        raise reader.invalid(f"unknown property {match[0]}", offset) from error
    except MissingPropertyError as error:
        raise reader.unsupported(f"the property {match[0]}", offset) from error


def _decimal_escape(reader: PatternReader, offset: int, first: str, *, in_class: bool) -> CharSet:
    r"""NUL for \0; \1 and up are backreferences, and octal escapes do not exist under u."""
    more = reader.take_match(_DIGITS)
    if first == "0" and more is None:
        return _one(0)
    if first == "0" or in_class:
        raise reader.invalid("octal escapes do not exist; use \\xHH", offset)
    number = first + (more[0] if more is not None else "")
    raise reader.unsupported(f"the backreference '\\{number[:10]}'", offset)
