"""JSON strings (RFC 8259, section 7): a language of decoded content, spelled in bytes with its quotes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from grammars.automata.codepoint_dfa import any_string

if TYPE_CHECKING:
    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa

Spelling: TypeAlias = Literal["canonical", "any"]
"""canonical: raw UTF-8 wherever it is allowed, the two-character escapes where they exist (all but `\\/`),
and `\\u00XX`, its digits in either case, for the other control characters.
any: every spelling that RFC 8259 allows of the same content; lone surrogate escapes are never allowed.
"""


def json_string(content: CodePointDfa, spelling: Spelling = "canonical") -> Dfa:
    """The JSON strings whose decoded content is in `content`, quotes included.

    Only well-formed UTF-8 (RFC 3629) is accepted, raw control characters never. Label 1; `char_boundary` is
    True between two characters of the content (not before the opening quote or after the closing one).
    """
    raise NotImplementedError


@lru_cache(maxsize=2)
def any_json_string(spelling: Spelling = "any") -> Dfa:
    """Every JSON string; the one object is shared, so that it can be compared by identity."""
    return json_string(any_string(), spelling)
