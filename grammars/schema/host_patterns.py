r"""Addresses, host names and mail addresses as patterns that match a whole string.

`IDN_LABEL` and what is made of it take letters beyond ASCII.
"""

from __future__ import annotations

import unicodedata
from typing import Final

# RFC 2673, section 3.2, and RFC 3986, section 3.2.2 (RFC 4291 text forms).
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
IPV4: Final = rf"(?:{_OCTET}\.){{3}}{_OCTET}"
_GROUP = r"[0-9A-Fa-f]{1,4}"
_LAST = rf"(?:{_GROUP}:{_GROUP}|{IPV4})"
IPV6: Final = "(?:" + "|".join(
    [
        rf"(?:{_GROUP}:){{6}}{_LAST}",
        rf"::(?:{_GROUP}:){{5}}{_LAST}",
        rf"(?:{_GROUP})?::(?:{_GROUP}:){{4}}{_LAST}",
        rf"(?:(?:{_GROUP}:){{0,1}}{_GROUP})?::(?:{_GROUP}:){{3}}{_LAST}",
        rf"(?:(?:{_GROUP}:){{0,2}}{_GROUP})?::(?:{_GROUP}:){{2}}{_LAST}",
        rf"(?:(?:{_GROUP}:){{0,3}}{_GROUP})?::{_GROUP}:{_LAST}",
        rf"(?:(?:{_GROUP}:){{0,4}}{_GROUP})?::{_LAST}",
        rf"(?:(?:{_GROUP}:){{0,5}}{_GROUP})?::{_GROUP}",
        rf"(?:(?:{_GROUP}:){{0,6}}{_GROUP})?::",
    ]
) + ")"  # fmt: skip

# Narrower: no label with hyphens at places 3 and 4, where A-labels have them (RFC 5890, section
# 2.3.1).
_NO_RESERVED = "(?![^.]{2}--)"


def _label(longest: int) -> str:
    return rf"{_NO_RESERVED}[A-Za-z0-9](?:[A-Za-z0-9-]{{0,{longest - 2}}}[A-Za-z0-9])?"


def _names(label: str, most: int) -> str:
    """Names of so many labels at most."""
    return rf"{label}(?:\.{label}){{0,{most - 1}}}"


# RFC 1123, section 2.1: labels of 63 characters, 253 together. Counting both takes 24,000 states,
# so narrower: three labels of 63 or eight of 30, either of which fits.
HOSTNAME: Final = f"(?:{_names(_label(63), 3)}|{_names(_label(30), 8)})"


def _u_label_letters() -> str:
    """Lower-case letters of Latin, Greek and Cyrillic, kana, ideographs and Hangul syllables.

    All are PVALID (RFC 5892): letters that NFKC and case folding leave as they are. None is a
    combining mark or written from right to left, so that any text of them is normalised and meets
    the Bidi rule (RFC 5893).
    """
    alphabets = (*range(0xDF, 0x250), *range(0x370, 0x530), *range(0x3041, 0x30FB))
    letters = [
        letter
        for letter in map(chr, alphabets)
        if unicodedata.category(letter) in ("Ll", "Lo")
        and unicodedata.normalize("NFKC", letter).casefold() == letter
    ]
    return "".join(letters) + "\u4e00-\u9fa5\uac00-\ud7a3"


# Narrower: eight characters in a label beyond ASCII. Each takes at most seven digits of Punycode
# (RFC 3492), so that the A-label has at most 63 characters, and the whole fits as above.
_U_LETTER = f"[a-z0-9{_u_label_letters()}\u00df\u03c2]"
_U_LABEL = rf"{_NO_RESERVED}{_U_LETTER}(?:(?:{_U_LETTER}|-){{0,6}}{_U_LETTER})?"
_ANY_LABEL = f"(?:{_label(63)}|{_U_LABEL})"
IDN_HOSTNAME: Final = f"(?:{_names(_ANY_LABEL, 3)}|{HOSTNAME})"

# RFC 5321, section 4.1.2: a dot-string or a quoted string, at a domain or an address literal. The
# local part has at most 64 octets and the whole 254 (section 4.5.3.1, less the angle brackets), so
# that domains are narrower than above: three labels of 62 or six of 30.
_ATOM_TEXT = r"A-Za-z0-9!#$%&'*+\-/=?^_`{|}~"
_QUOTED_TEXT = r" !#-\[\]-~"


def _atoms(text: str) -> str:
    return rf"[{text}]+(?:\.[{text}]+)*"


def _quoted(text: str, most: int) -> str:
    return rf"\"(?:[{text}]|\\[ -~]){{0,{most}}}\""


def _at(local_part: str, domain: str) -> str:
    return rf"(?:{local_part})@(?:{domain}|\[(?:{IPV4}|IPv6:{IPV6})\])"


_MAIL_DOMAIN = f"(?:{_names(_label(62), 3)}|{_names(_label(30), 6)})"
_IDN_MAIL_DOMAIN = f"(?:{_names(_ANY_LABEL, 2)}|{_MAIL_DOMAIN})"
_LOCAL_PART = f"{_atoms(_ATOM_TEXT)}|{_quoted(_QUOTED_TEXT, 31)}"
EMAIL: Final = rf"(?=[^\"@]{{1,64}}@|\"){_at(_LOCAL_PART, _MAIL_DOMAIN)}"
# RFC 6531, section 3.3; narrower: 16 characters in a local part beyond ASCII.
_BEYOND = r"\u0080-\u{10ffff}"
_IDN_LOCAL_PART = f"{_atoms(_ATOM_TEXT + _BEYOND)}|{_quoted(_QUOTED_TEXT + _BEYOND, 15)}"
IDN_EMAIL: Final = (
    rf"(?=[^\"@{_BEYOND}]{{1,64}}@|[^\"@]{{1,16}}@|\")"
    f"{_at(f'{_IDN_LOCAL_PART}|{_quoted(_QUOTED_TEXT, 31)}', _IDN_MAIL_DOMAIN)}"
)
WIDEST_EMAIL: Final = rf"(?:[{_ATOM_TEXT}.]+|\"[\0-\x7f]*\")@[\0-\x7f]+"
WIDEST_IDN_EMAIL: Final = rf"(?:[{_ATOM_TEXT}{_BEYOND}.]+|\"[^]*\")@[^]+"
