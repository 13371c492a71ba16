r"""Character sets of ECMA-262: class escapes, the dot, and \p{..} property escapes.

Property escapes follow ECMA-262, section 22.2.1.9: General_Category, Script and Script_Extensions
by value, and the binary properties of its table. Members come from the Unicode data in the `regex`
package.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import regex

from grammars.automata.charset import (
    ALL_CHARACTERS,
    FIRST_SURROGATE,
    LAST_SURROGATE,
    NUM_CODE_POINTS,
    CharSet,
)

DIGITS: Final = CharSet.from_ranges([(0x30, 0x39)])
WORD: Final = CharSet.from_ranges([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
LINE_TERMINATORS: Final = CharSet.of("\n\r\u2028\u2029")
# WhiteSpace and LineTerminator of ECMA-262, sections 12.2 and 12.3; unlike Python's \s it holds
# U+FEFF.
SPACE: Final = CharSet.of("\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff").union(
    CharSet.from_ranges([(0x2000, 0x200A)])
)
DOT: Final = ALL_CHARACTERS.difference(LINE_TERMINATORS)

CLASS_ESCAPES: Final = {
    "d": DIGITS,
    "D": DIGITS.complement(),
    "w": WORD,
    "W": WORD.complement(),
    "s": SPACE,
    "S": SPACE.complement(),
}

_GENERAL_CATEGORIES_TEXT: Final = """
    LC Cased_Letter Cc Control cntrl Cf Format Cn Unassigned Co Private_Use Cs Surrogate C Other
    L Letter Ll Lowercase_Letter Lm Modifier_Letter Lo Other_Letter Lt Titlecase_Letter Lu
    Uppercase_Letter M Mark Combining_Mark Mc Spacing_Mark Me Enclosing_Mark Mn Nonspacing_Mark
    N Number Nd Decimal_Number digit Nl Letter_Number No Other_Number P Punctuation punct Pc
    Connector_Punctuation Pd Dash_Punctuation Pe Close_Punctuation Pf Final_Punctuation Pi
    Initial_Punctuation Po Other_Punctuation Ps Open_Punctuation S Symbol Sc Currency_Symbol Sk
    Modifier_Symbol Sm Math_Symbol So Other_Symbol Z Separator Zl Line_Separator Zp
    Paragraph_Separator Zs Space_Separator
"""
_BINARY_PROPERTIES_TEXT: Final = """
    ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored
    Bidi_M Case_Ignorable CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM
    Changes_When_Lowercased CWL Changes_When_NFKC_Casefolded CWKCF Changes_When_Titlecased CWT
    Changes_When_Uppercased CWU Dash Default_Ignorable_Code_Point DI Deprecated Dep Diacritic
    Dia Emoji Emoji_Component EComp Emoji_Modifier EMod Emoji_Modifier_Base EBase
    Emoji_Presentation EPres Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base
    Grapheme_Extend Gr_Ext Hex_Digit Hex IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST
    ID_Continue IDC ID_Start IDS Ideographic Ideo Join_Control Join_C Logical_Order_Exception
    LOE Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn
    Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI
    Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo
    Uppercase Upper Variation_Selector VS White_Space space XID_Continue XIDC XID_Start XIDS
"""
_GENERAL_CATEGORIES: Final = frozenset(_GENERAL_CATEGORIES_TEXT.split())
_BINARY_PROPERTIES: Final = frozenset(_BINARY_PROPERTIES_TEXT.split())


class UnknownPropertyError(ValueError):
    """ECMA-262 has no such property, or no such value of it."""


class MissingPropertyError(ValueError):
    """A property of ECMA-262 that our Unicode data does not hold."""


@lru_cache(maxsize=64)
def property_set(name: str, value: str | None) -> CharSet:
    r"""The members of \p{name} (value None) or \p{name=value}.

    Raises:
        UnknownPropertyError: ECMA-262 has no such property or value.
        MissingPropertyError: it has, but it is not in our data.
    """
    if value is None:
        if name in _GENERAL_CATEGORIES:
            return _scan(f"gc={name}")
        if name in _BINARY_PROPERTIES:
            return _scan(name)
    elif name in ("General_Category", "gc"):
        if value in _GENERAL_CATEGORIES:
            return _scan(f"gc={value}")
    elif name in ("Script", "sc", "Script_Extensions", "scx") and _is_script_name(value):
        try:
            return _scan(f"{'scx' if name.endswith(('x', 'Extensions')) else 'sc'}={value}")
        except MissingPropertyError:
            pass
    raise UnknownPropertyError(name)


def _is_script_name(value: str) -> bool:
    """Whether `value` is written like a script ("Old_Italic"); our data would take any case."""
    return all(part[:1].isupper() and part[1:].islower() for part in value.split("_"))


def _scan(query: str) -> CharSet:
    """The characters that match a property of the `regex` package: one scan over all of Unicode."""
    try:
        pattern = regex.compile(rf"\p{{{query}}}+")
    except regex.error as error:
        raise MissingPropertyError(query) from error
    spans = (match.span() for match in pattern.finditer(_every_character()))
    num_surrogates = LAST_SURROGATE - FIRST_SURROGATE + 1

    def code_point(index: int) -> int:
        return index if index < FIRST_SURROGATE else index + num_surrogates

    return CharSet.from_ranges((code_point(first), code_point(end - 1)) for first, end in spans)


@lru_cache(maxsize=1)
def _every_character() -> str:
    """All characters in order, without the surrogates."""
    code_points = np.arange(NUM_CODE_POINTS, dtype="<u4")
    is_character = (code_points < FIRST_SURROGATE) | (code_points > LAST_SURROGATE)
    return code_points[is_character].tobytes().decode("utf-32-le")
