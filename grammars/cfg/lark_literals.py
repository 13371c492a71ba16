r"""Literals of Lark: strings and regular expressions, with their flags, as pattern nodes.

Regular expressions are written in Python's or Rust's syntax. What means the same in ours (ECMA-262
with u semantics) is taken over, `.` is translated, and what would mean something else is refused by
name. `\d`, `\w` and `\s` have ECMA-262's meaning: ASCII digits and letters, Unicode white space.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from grammars.automata.pattern import parse_pattern
from grammars.cfg.letter_case import in_any_case
from grammars.cfg.source import has_surrogate
from grammars.cfg.syntax import literal
from grammars.errors import InvalidGrammarError, UnsupportedError

if TYPE_CHECKING:
    from grammars.automata.pattern_ast import Node
    from grammars.cfg.source import Source

STRING: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"(i?)')
REGEX: Final = re.compile(r"/((?:[^/\\\n]|\\.)+)/([a-z]*)")

_STRING_PIECE: Final = re.compile(
    r"[^\\]+|\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))"
)
_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "f": "\f", "\\": "\\", '"': '"', "'": "'", "/": "/",
}  # fmt: skip

PLAIN_PER_PART: Final = 4
"""Characters without a meaning of their own that are as much work as one part of a grammar."""

PARTS_PER_CLASS: Final = 8
"""Parts that a class in brackets is as much work as."""

PARTS_PER_PROPERTY: Final = 40
"""Parts that a property of Unicode (`\\p{L}`) is as much work as: it has hundreds of ranges."""

_REGEX_PIECE: Final = re.compile(
    r"(?P<plain>[^\\\[(?*+{.^$]+)|(?P<escape>\\.)|(?P<cls>\[\^?)|(?P<group>\(\?P<)"
    r"|(?P<lazy>(?:[*+?]|\{[0-9]*,?[0-9]*\})\?)|(?P<dot>\.)|(?P<anchor>[\^$])|(?P<other>.)",
    re.DOTALL,
)
_CLASS_PIECE: Final = re.compile(r"\\.|\[:|&&|--|\]|.", re.DOTALL)
_INLINE_FLAGS: Final = re.compile(r"\(\?([a-z]+)\)")
_KNOWN_FLAGS: Final = frozenset("imsu")
_ANY_CHARACTER: Final = "[^]"
_NO_LINE_FEED: Final = r"[^\n]"


def string_node(source: Source, match: re.Match[str]) -> Node:
    """The text of a string, `match` of STRING; with the flag i in any case.

    Raises:
        InvalidGrammarError: malformed.
        LimitExceededError: the grammar has too many parts.
    """
    source.count_parts(len(match[1]) // PLAIN_PER_PART)
    characters: list[str] = []
    for piece in _STRING_PIECE.finditer(match[1]):
        digits = piece[1] or piece[2] or piece[3]
        if digits is not None:
            code_point = int(digits, 16)
            if code_point > sys.maxunicode or 0xD800 <= code_point <= 0xDFFF:
                raise source.invalid(f"{piece[0]!r} is no character of Unicode", match.start())
            characters.append(chr(code_point))
        elif piece[4] is None:
            characters.append(piece[0])
        elif piece[4] in _ESCAPES:
            characters.append(_ESCAPES[piece[4]])
        else:
            raise source.invalid(
                f"unknown escape '{piece[0]}' in a string; there are \\n \\t \\r \\f \\\\ \\\" "
                "\\xHH \\uHHHH \\UHHHHHHHH",
                match.start(),
            )
    text = "".join(characters)
    if has_surrogate(text):
        raise source.invalid("the string holds a lone surrogate, no character", match.start())
    node = literal(text)
    return in_any_case(node, source) if match[2] else node


def regex_node(source: Source, match: re.Match[str]) -> Node:
    """The texts of a regular expression, `match` of REGEX.

    Raises:
        InvalidGrammarError: malformed.
        UnsupportedError: a flag or construct that we would read otherwise.
        LimitExceededError: the grammar has too many parts.
    """
    inline = _INLINE_FLAGS.match(match[1])
    flags = set(match[2]) | set(inline[1] if inline else "")
    if flags - _KNOWN_FLAGS:
        flag = min(flags - _KNOWN_FLAGS)
        raise source.unsupported(
            f"the flag {flag!r} of a regular expression is not supported; there are i, m, s and u",
            match.start(),
        )
    pattern, has_negation = _translated(source, match, dot_matches_all="s" in flags)
    if "i" in flags and has_negation:
        raise source.unsupported(
            "the flag 'i' together with a negated class is not supported; write both cases",
            match.start(),
        )
    try:
        node = parse_pattern(pattern)
    except InvalidGrammarError as error:
        raise source.invalid(error.reason, match.start()) from error
    except UnsupportedError as error:
        raise source.unsupported(error.reason, match.start()) from error
    return in_any_case(node, source) if "i" in flags else node


def _translated(source: Source, match: re.Match[str], *, dot_matches_all: bool) -> tuple[str, bool]:
    """The pattern in our syntax, and whether it holds a negated class."""

    def refuse(what: str, way_out: str) -> UnsupportedError:
        return source.unsupported(f"{what} in a regular expression; {way_out}", match.start())

    text, result, has_negation = match[1], list[str](), False
    inline = _INLINE_FLAGS.match(text)
    offset = 0 if inline is None else inline.end()
    while offset < len(text):
        piece = _REGEX_PIECE.match(text, offset)
        assert piece is not None, "the last way matches any character"
        offset = piece.end()
        source.count_parts(1 + len(piece[0]) // PLAIN_PER_PART)
        match piece.lastgroup:
            case "escape":
                has_negation |= piece[0][1] in "DWSP"
                source.count_parts(_num_property_parts(piece[0]))
                if piece[0][1] in "AZz":
                    raise refuse(f"the anchor '{piece[0]}'", "a terminal is matched as a whole")
                result.append(piece[0])
            case "cls":
                inside, offset = _class_end(text, offset)
                if inside is None:
                    raise refuse(
                        "']' first in a class, or set notation", "escape ']' and write plain ranges"
                    )
                has_negation |= piece[0] == "[^" or any(e in inside for e in _NEGATED_ESCAPES)
                source.count_parts(
                    PARTS_PER_CLASS + len(inside) // PLAIN_PER_PART + _num_property_parts(inside)
                )
                result.append(piece[0] + inside)
            case "group":
                result.append("(?<")
            case "lazy":
                raise refuse(
                    f"the lazy repetition '{piece[0]}'",
                    "the longest match is taken, so name what the text may not hold",
                )
            case "dot":
                result.append(_ANY_CHARACTER if dot_matches_all else _NO_LINE_FEED)
            case "anchor":
                raise refuse(f"the anchor '{piece[0]}'", "a terminal is matched as a whole")
            case _:
                result.append(piece[0])
    return "".join(result), has_negation


_NEGATED_ESCAPES: Final = (r"\D", r"\W", r"\S", r"\P")


def _class_end(text: str, offset: int) -> tuple[str | None, int]:
    """A class from after its opening to its `]`, and the offset after that; None: refused."""
    start = offset
    while (piece := _CLASS_PIECE.match(text, offset)) is not None:
        if piece[0] in {"[:", "&&", "--"} or (piece[0] == "]" and offset == start):
            return None, offset
        offset = piece.end()
        if piece[0] == "]":
            break
    return text[start:offset], offset


def _num_property_parts(text: str) -> int:
    return PARTS_PER_PROPERTY * (text.count(r"\p") + text.count(r"\P"))
