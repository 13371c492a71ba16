"""Groups of characters that automata rarely tell apart, few enough for the bits of a word.

ASCII letters and digits are five, its other characters are one each, the rest are grouped by what
may follow their first byte in UTF-8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import NUM_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEADS: Final = np.array(
    [
        (0xC2, 0xDF, 0x80, 0xBF, 1),
        (0xE0, 0xE0, 0xA0, 0xBF, 2),
        (0xE1, 0xEC, 0x80, 0xBF, 2),
        (0xED, 0xED, 0x80, 0x9F, 2),
        (0xEE, 0xEF, 0x80, 0xBF, 2),
        (0xF0, 0xF0, 0x90, 0xBF, 3),
        (0xF1, 0xF3, 0x80, 0xBF, 3),
        (0xF4, 0xF4, 0x80, 0x8F, 3),
    ],
    np.int32,
)
"""First bytes of longer characters, from and to; the second, from and to; how many bytes follow the
first. RFC 3629, section 4."""

FIRST_LEAD_GROUP: Final = 1
"""Group of the first row of `LEADS`; the others follow."""

_ASCII: Final = (
    b"abcdef",
    b"ghijklmnopqrstuvwxyz",
    b"ABCDEF",
    b"GHIJKLMNOPQRSTUVWXYZ",
    b"0123456789",
    bytes(range(0x20)),
    *(bytes([byte]) for byte in range(0x20, 0x80) if not chr(byte).isalnum()),
)


def _group_of_byte() -> NDArray[np.uint8]:
    group = np.zeros(NUM_BYTES, np.uint8)
    for number, (first, last, *_) in enumerate(LEADS.tolist(), FIRST_LEAD_GROUP):
        group[first : last + 1] = number
    for number, characters in enumerate(_ASCII, FIRST_LEAD_GROUP + len(LEADS)):
        group[list(characters)] = number
    assert group.max() < 62, "groups are bits of an int64"
    return group


GROUP_OF_BYTE: Final = _group_of_byte()
"""uint8, (256,): of the character that begins with a byte; 0 where none does."""

ASCII_GROUPS: Final = (1 << len(_ASCII)) - 1 << FIRST_LEAD_GROUP + len(LEADS)
"""Bits of the groups of ASCII characters."""
