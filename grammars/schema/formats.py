"""Formats (JSON Schema Validation 2020-12, section 7.3) as patterns that match the whole string.

Each is exact or narrower than its RFC, never wider: what is generated is valid. Where it is
narrower, a comment says so.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from grammars.automata.pattern_dfa import fullmatch, search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammars.automata.codepoint_dfa import CodePointDfa

_MAX_STATES: Final = 100_000

# RFC 3339, section 5.6, with the real calendar: 29 February in leap years only.
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    r"(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    rf"|02-(?:0[1-9]|1\d|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_OFFSET = r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
# Narrower: a leap second is written in UTC only, where it is always 23:59:60.
_TIME = (
    rf"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?{_OFFSET}"
    r"|23:59:60(?:\.\d+)?(?:[Zz]|[+-]00:00))"
)

# RFC 3339, appendix A.
_DURATION_TIME = r"T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)"
_DURATION_DATE = r"(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)"
_DURATION = rf"P(?:\d+W|{_DURATION_DATE}(?:{_DURATION_TIME})?|{_DURATION_TIME})"

# RFC 2673, section 3.2, and RFC 3986, section 3.2.2 (RFC 4291 text forms).
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"
_GROUP = r"[0-9A-Fa-f]{1,4}"
_LAST = rf"(?:{_GROUP}:{_GROUP}|{_IPV4})"
_IPV6 = "(?:" + "|".join(
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

# RFC 1123, section 2.1: labels of 63 characters, 253 together. Counting both takes 24,000 states,
# so narrower: three labels of 63 or eight of 30, either of which fits.
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_SHORT_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,28}[A-Za-z0-9])?"
_HOSTNAME = rf"(?:{_LABEL}(?:\.{_LABEL}){{0,2}}|{_SHORT_LABEL}(?:\.{_SHORT_LABEL}){{0,7}})"
# Narrower: no label with hyphens at places 3 and 4, the A-labels (RFC 5890, section 2.3.1).
_RESERVED_LABEL = r"(?:^|[.@])[^.]{2}--"

# RFC 5321, section 4.1.2: a dot-string or a quoted string, at a domain or an address literal.
_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+"
_QUOTED = r"\"(?:[ !#-\[\]-~]|\\[ -~])*\""
_EMAIL = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@(?:{_HOSTNAME}|\[(?:{_IPV4}|IPv6:{_IPV6})\])"

# RFC 3986, appendix A.
_CHARACTER = r"(?:[A-Za-z0-9._~\-!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})"
_USER_INFO = r"(?:[A-Za-z0-9._~\-!$&'()*+,;=:]|%[0-9A-Fa-f]{2})*"
_REGISTERED_NAME = r"(?:[A-Za-z0-9._~\-!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
_AUTHORITY = (
    rf"(?:{_USER_INFO}@)?"
    rf"(?:\[(?:{_IPV6}|v[0-9A-Fa-f]+\.[A-Za-z0-9._~\-!$&'()*+,;=:]+)\]|{_REGISTERED_NAME})(?::\d*)?"
)
_SEGMENTS = rf"(?:/{_CHARACTER}*)*"
_ROOTED = rf"/(?:{_CHARACTER}+{_SEGMENTS})?"
_NO_COLON = r"(?:[A-Za-z0-9._~\-!$&'()*+,;=@]|%[0-9A-Fa-f]{2})+"
_TAIL = rf"(?:\?(?:{_CHARACTER}|[/?])*)?(?:#(?:{_CHARACTER}|[/?])*)?"
_URI = (
    r"[A-Za-z][A-Za-z0-9+.\-]*:"
    rf"(?://{_AUTHORITY}{_SEGMENTS}|{_ROOTED}|{_CHARACTER}+{_SEGMENTS}|){_TAIL}"
)
_RELATIVE = rf"(?://{_AUTHORITY}{_SEGMENTS}|{_ROOTED}|{_NO_COLON}{_SEGMENTS}|){_TAIL}"

# RFC 6901, section 3, and draft-bhutton-relative-json-pointer-00, section 3.
_POINTER = r"(?:/(?:[^~/]|~[01])*)*"

_PATTERNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "date": _DATE,
        "date-time": rf"{_DATE}[Tt]{_TIME}",
        "duration": _DURATION,
        "email": _EMAIL,
        "hostname": _HOSTNAME,
        "ipv4": _IPV4,
        "ipv6": _IPV6,
        "json-pointer": _POINTER,
        "relative-json-pointer": rf"(?:0|[1-9]\d*)(?:#|{_POINTER})",
        "time": _TIME,
        "uri": _URI,
        "uri-reference": rf"(?:{_URI}|{_RELATIVE})",
        "uuid": "-".join(f"[0-9A-Fa-f]{{{length}}}" for length in (8, 4, 4, 4, 12)),
    }
)

ENFORCED_FORMATS: Final = frozenset(_PATTERNS)
"""Formats that are enforced while generating."""

STANDARD_FORMATS: Final = ENFORCED_FORMATS | {
    "idn-email", "idn-hostname", "iri", "iri-reference", "regex", "uri-template",
}  # fmt: skip
"""Formats of the standard; one that is not enforced is refused. Other names are annotations."""


@lru_cache(maxsize=len(ENFORCED_FORMATS))
def format_dfa(name: str) -> CodePointDfa:
    """The strings of an enforced format."""
    texts = fullmatch(_PATTERNS[name], max_states=_MAX_STATES)
    if name in ("hostname", "email"):
        texts = texts.difference(search(_RESERVED_LABEL, max_states=_MAX_STATES))
    return texts
