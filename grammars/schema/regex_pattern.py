r"""The format `regex` as a pattern: regular expressions that ECMA-262 and its imitators all read.

Narrower than ECMA-262 (section 22.2.1, with the u flag), because validators judge by the regular
expressions of their own language: no named groups, backreferences, lookbehind, properties, `\c` or
`\u{..}`; ranges of a class are of digits, `a-z`, `a-f` and their capitals; numbers have at most
three digits; and groups nest three deep, since brackets are not regular.
"""

from __future__ import annotations

from typing import Final

MAX_GROUP_DEPTH: Final = 3
"""Groups inside groups."""

_SYNTAX = r"\^$.*+?()\[\]{}|/"
_ESCAPE = rf"\\(?:[dDwWsStnvfr{_SYNTAX}\\]|x[0-9A-Fa-f]{{2}}|u(?![Dd][89A-Fa-f])[0-9A-Fa-f]{{4}})"
_PLAIN = rf"[^\\\n\r\u2028\u2029{_SYNTAX}]|/"


_RANGES = "|".join([*(f"{low}-[{low}-9]" for low in range(10)), "a-[fz]", "A-[FZ]"])
_CLASS_PLAIN = r"[^\\\n\r\u2028\u2029\[\]^\-]"
_CLASS = rf"\[\^?(?:-|-?(?:{_RANGES}|{_CLASS_PLAIN}|{_ESCAPE}|\\-)+-?)\]"


# Two numbers in ascending order: by their length, or by their first digit, or of one digit.
_ASCENDING = "|".join(
    [
        r"\d,[1-9]\d{1,2}|[1-9]\d,[1-9]\d\d",
        *(f"{low},[{low}-9]" for low in range(10)),
        *(rf"{ten}\d,[{ten + 1}-9]\d" for ten in range(1, 9)),
    ]
)
_QUANTIFIER = rf"(?:[*+?]|\{{(?:\d{{1,3}},?|{_ASCENDING})\}})\??"


def _disjunction(depth: int) -> str:
    """Alternatives whose groups nest so deep."""
    atom = rf"(?:{_PLAIN}|\.|{_ESCAPE}|{_CLASS})"
    places = r"\^|\$|\\[bB]"
    if depth == 0:
        return rf"(?:{atom}(?:{_QUANTIFIER})?|{places}|\|)*"
    inner = _disjunction(depth - 1)
    group = rf"\((?:\?:)?{inner}\)"
    look = rf"\(\?[=!]{inner}\)"
    return rf"(?:(?:{atom}|{group})(?:{_QUANTIFIER})?|{places}|{look}|\|)*"


REGEX: Final = _disjunction(MAX_GROUP_DEPTH)
