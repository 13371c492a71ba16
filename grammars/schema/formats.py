"""Formats (JSON Schema Validation 2020-12, section 7.3) as languages of whole strings.

Each is exact or narrower than its RFC, never wider: what is generated is valid. Where it is
narrower, a comment says so. A format of the standard is enforced; other names are annotations.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from grammars.automata.pattern_dfa import fullmatch
from grammars.schema import host_patterns, regex_pattern, time_patterns, uri_patterns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammars.automata.codepoint_dfa import CodePointDfa

_MAX_STATES: Final = 100_000

_PATTERNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "date": time_patterns.DATE,
        "date-time": time_patterns.DATE_TIME,
        "duration": time_patterns.DURATION,
        "email": host_patterns.EMAIL,
        "hostname": host_patterns.HOSTNAME,
        "idn-email": host_patterns.IDN_EMAIL,
        "idn-hostname": host_patterns.IDN_HOSTNAME,
        "ipv4": host_patterns.IPV4,
        "ipv6": host_patterns.IPV6,
        "iri": uri_patterns.IRI,
        "iri-reference": uri_patterns.IRI_REFERENCE,
        "json-pointer": uri_patterns.JSON_POINTER,
        "regex": regex_pattern.REGEX,
        "relative-json-pointer": uri_patterns.RELATIVE_JSON_POINTER,
        "time": time_patterns.TIME,
        "uri": uri_patterns.URI,
        "uri-reference": uri_patterns.URI_REFERENCE,
        "uri-template": uri_patterns.URI_TEMPLATE,
        "uuid": "-".join(f"[0-9A-Fa-f]{{{length}}}" for length in (8, 4, 4, 4, 12)),
    }
)

ENFORCED_FORMATS: Final = frozenset(_PATTERNS)
"""The formats of the standard, all of them enforced while generating."""

# Of formats that are generated in a narrower form: what every text of them matches, by any reading.
# What lies outside is surely not of the format; the closer, the more is known not to be.
_WIDEST: Final[Mapping[str, str]] = MappingProxyType(
    {
        "date-time": rf"{time_patterns.DATE}[Tt ]{time_patterns.WIDEST_TIME}",
        "email": host_patterns.WIDEST_EMAIL,
        "hostname": r"[A-Za-z0-9.\-]+",
        "idn-email": host_patterns.WIDEST_IDN_EMAIL,
        "idn-hostname": r"[A-Za-z0-9.\-\u0080-\u{10ffff}]+",
        "iri": r"[A-Za-z][A-Za-z0-9+.\-]*:[^\0- <>\"{}|\\^`]*",
        "iri-reference": r"[^\0- <>\"{}|\\^`]*",
        "regex": "[^]*",
        "relative-json-pointer": r"\d+(?:[+\-]\d+)?(?:#|/[^]*)?",
        "time": time_patterns.WIDEST_TIME,
        "uri-template": r"[^\0- <>\"\\^`|]*",
    }
)

NARROWER_FORMATS: Final = frozenset(_WIDEST)
"""Formats that are generated in a narrower form than their RFCs allow."""

_PLAIN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "iri": uri_patterns.PLAIN_IRI,
        "iri-reference": uri_patterns.PLAIN_IRI_REFERENCE,
        "uri": uri_patterns.PLAIN_URI,
        "uri-reference": uri_patterns.PLAIN_URI_REFERENCE,
    }
)

PLAIN_FORMATS: Final = frozenset(_PLAIN)
"""Formats that have a plainer form whose texts can end almost anywhere, so that a counter bounds
their length."""

LONG_TEXT: Final = 512
"""Characters from which on a plainer form is taken: multiplied out, the other would be large."""


@lru_cache(maxsize=len(ENFORCED_FORMATS))
def format_dfa(name: str) -> CodePointDfa:
    """The strings of an enforced format, as they are generated."""
    return fullmatch(_PATTERNS[name], max_states=_MAX_STATES)


@lru_cache(maxsize=len(PLAIN_FORMATS))
def plain_format_dfa(name: str) -> CodePointDfa:
    """Strings of a format in PLAIN_FORMATS, fewer than it has."""
    return fullmatch(_PLAIN[name], max_states=_MAX_STATES)


@lru_cache(maxsize=len(NARROWER_FORMATS))
def widest_format_dfa(name: str) -> CodePointDfa:
    """Strings outside of which nothing is of a format in NARROWER_FORMATS."""
    return fullmatch(_WIDEST[name], max_states=_MAX_STATES)
