"""Dates, times and durations (RFC 3339) as patterns that match a whole string."""

from __future__ import annotations

from typing import Final

# RFC 3339, section 5.6, with the real calendar: 29 February in leap years only.
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
DATE: Final = (
    r"(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    rf"|02-(?:0[1-9]|1\d|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_OFFSET = r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
# Narrower: a leap second is written in UTC only, where it is always 23:59:60. To remember hour and
# minute until the offset would take 7,000 states.
TIME: Final = (
    rf"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?{_OFFSET}"
    r"|23:59:60(?:\.\d+)?(?:[Zz]|[+-]00:00))"
)
WIDEST_TIME: Final = r"\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)"
DATE_TIME: Final = rf"{DATE}[Tt]{TIME}"

# RFC 3339, appendix A.
_DURATION_TIME = r"T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)"
_DURATION_DATE = r"(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)"
DURATION: Final = rf"P(?:\d+W|{_DURATION_DATE}(?:{_DURATION_TIME})?|{_DURATION_TIME})"
