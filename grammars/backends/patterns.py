r"""Patterns: ECMA-262 regexes rewritten into the plain syntax that every peer reads the same way.

Peers disagree on `\d`, `\s`, `.`, anchors and groups, so they are never handed a caller's pattern
as it is. What comes out uses only literals, `[...]`, `[^...]`, `(?:...)`, `|` and quantifiers, and
matches a text as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from grammars.automata.charset import ALL_CHARACTERS, NO_CHARACTERS, NUM_CODE_POINTS, CharSet
from grammars.automata.pattern import parse_pattern
from grammars.automata.pattern_ast import (
    Alternation,
    Anchor,
    Characters,
    Concatenation,
    Look,
    Node,
    Repetition,
)
from grammars.errors import InvalidGrammarError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable

# RFC 8259, section 7: these stand in a JSON string only as escapes.
_NEEDS_ESCAPE: Final = CharSet.from_ranges([(0x00, 0x1F)]).union(CharSet.of('"\\'))
_SYNTAX: Final = frozenset(r"\.+*?()|[]{}^$-/&~#")


def plain_regex(pattern: str) -> str:
    """Rewrite a pattern that a whole text must match (`Regex`).

    Raises:
        UnsupportedError, InvalidGrammarError, LimitExceededError: as `parse_pattern`.
        UnsupportedError: an anchor inside the pattern, or a lookaround.
    """
    return _alternatives(_without_anchors(option)[0] for option in _options(pattern, NO_CHARACTERS))


def search_regex(pattern: str) -> str:
    """Rewrite a schema's `pattern`, which is searched for, into a regex of the whole string.

    Raises:
        GrammarError: as `plain_regex`.
    """
    return _search(pattern, NO_CHARACTERS)


def json_string_regex(pattern: str) -> str:
    """`search_regex` for the text between the quotes of a JSON string.

    Only strings spelled without escapes come out: narrower than the keyword, never wider.

    Raises:
        GrammarError: as `plain_regex`, or a character that JSON can only write as an escape.
    """
    return _search(pattern, _NEEDS_ESCAPE)


def choice_regex(options: Iterable[str]) -> str:
    """The regex of exactly these texts.

    Raises:
        InvalidGrammarError: there are none.
    """
    alternatives = [quote_literal(option) for option in options]
    if not alternatives:
        raise InvalidGrammarError("a choice needs at least one option", keyword="Choice")
    return _alternatives(alternatives)


def quote_literal(text: str) -> str:
    """The regex that matches exactly `text`."""
    return "".join(_quote(ord(char)) for char in text)


def _search(pattern: str, forbidden: CharSet) -> str:
    anything = _format_class(ALL_CHARACTERS.difference(forbidden)) + "*"
    return _alternatives(
        ("" if at_start else anything) + body + ("" if at_end else anything)
        for body, at_start, at_end in map(_without_anchors, _options(pattern, forbidden))
    )


def _options(pattern: str, forbidden: CharSet) -> list[list[str | Anchor]]:
    """The alternatives at the top of a pattern, each as its terms in order."""
    tree = parse_pattern(pattern)
    options = tree.options if isinstance(tree, Alternation) else (tree,)
    return [
        [
            part if isinstance(part, Anchor) else _format(part, forbidden)
            for part in (option.parts if isinstance(option, Concatenation) else (option,))
        ]
        for option in options
    ]


def _without_anchors(terms: list[str | Anchor]) -> tuple[str, bool, bool]:
    """The text of an alternative, whether it begins with ^, and whether it ends with $."""
    at_start = terms[:1] == [Anchor.START]
    at_end = terms[-1:] == [Anchor.END]
    inner = terms[at_start : len(terms) - at_end]
    if any(isinstance(term, Anchor) for term in inner):
        raise _not_enforced("an anchor")
    return "".join(map(str, inner)), at_start, at_end


def _format(node: Node, forbidden: CharSet) -> str:
    match node:
        case Characters(members):
            allowed = members.difference(forbidden)
            if allowed.is_empty:
                raise UnsupportedError(
                    "the pattern needs a character that JSON writes only as an escape, which this "
                    "backend does not enforce; use the tightrope backend",
                    keyword="pattern",
                )
            return _format_class(allowed)
        case Concatenation(parts):
            return "".join(_format(part, forbidden) for part in parts)
        case Alternation(options):
            return _alternatives(_format(option, forbidden) for option in options)
        case Repetition(part, minimum, maximum):
            text = _format(part, forbidden)
            atom = text if isinstance(part, Characters) else f"(?:{text})"
            return atom + _quantifier(minimum, maximum)
        case Anchor():
            raise _not_enforced("an anchor")
        case Look():
            raise _not_enforced("a lookaround")
        case _:
            assert_never(node)


def _not_enforced(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{what} inside the pattern is not enforced by this backend; use the tightrope backend",
        keyword="pattern",
    )


def _alternatives(options: Iterable[str]) -> str:
    return "(?:" + "|".join(options) + ")"


def _quantifier(minimum: int, maximum: int | None) -> str:
    match minimum, maximum:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case _, None:
            return f"{{{minimum},}}"
        case _:
            return f"{{{minimum},{maximum}}}"


def _format_class(members: CharSet) -> str:
    """The set as regex text; a set without an upper end is written negated, which FSMs need."""
    if members == ALL_CHARACTERS:
        return "(?:[^a]|a)"  # no syntax for "any character" is common to all
    if len(members) == 1:
        return _quote(members.bounds[0])
    if members.bounds[-1] == NUM_CODE_POINTS:
        return "[^" + _format_members(members.complement()) + "]"
    return "[" + _format_members(members) + "]"


def _format_members(members: CharSet) -> str:
    return "".join(
        _quote(first) if first == last else f"{_quote(first)}-{_quote(last)}"
        for first, last in members.ranges
    )


def _quote(code_point: int) -> str:
    """One code point, in a class or outside."""
    if code_point < 0x20 or 0x7F <= code_point < 0xA0:
        return f"\\x{code_point:02x}"
    char = chr(code_point)
    return "\\" + char if char in _SYNTAX else char
