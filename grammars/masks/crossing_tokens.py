"""CrossingTokens: tokens that may end a text of a frame and begin the next."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.masks.json_scan import OUTSIDE, scan, scan_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from grammars.vocabulary import Vocabulary

_COMMA: Final = ord(",")
_SPACE: Final = ord(" ")
_OUTSIDE_BYTES: Final = frozenset(b'{}[],: "+-.0123456789Eaeflnrstu')
_BEFORE_VALUES: Final = (b"[", b"{", b",", b":")
_CROSSES: Final = re.compile(rb'(?:^|["\]}0-9el]),')
_CROSSES_FROM_STRING: Final = re.compile(rb'"[\]}]*,')
_BEGINS_ONLY: Final = re.compile(rb'[^,]*, ?[\[{]*(?:"[^"\\,]*)?', re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class CrossingTokens:
    """Tokens that may end a text of a frame and begin the next: few, and all have a comma.

    Args:
        outside: int32; those that may begin outside of strings.
        in_string: int32; those that may begin in a string.
        nowhere: int32; those that may open a frame and do so in it.
        begins_only: those that cannot end a text which they begin.
    """

    outside: NDArray[np.int32]
    in_string: NDArray[np.int32]
    nowhere: NDArray[np.int32]
    begins_only: frozenset[int]


def crossing_tokens(vocabulary: Vocabulary) -> CrossingTokens:
    """The crossing tokens of a vocabulary; use it through `Vocabulary.derive`."""
    found = [(t, data) for t, data in vocabulary.token_bytes.items() if _CROSSES.search(data)]
    return CrossingTokens(
        outside=_ids(t for t, _ in found),
        in_string=_ids(t for t, data in found if _CROSSES_FROM_STRING.search(data)),
        nowhere=_ids(t for t, data in found if _crosses_inside(data)),
        begins_only=frozenset(t for t, data in found if _BEGINS_ONLY.fullmatch(data)),
    )


def _crosses_inside(data: bytes) -> bool:
    """Whether a token can open a frame, write a text in it and go on to the next."""
    return any(_opens_and_crosses(data, state) for state in (OUTSIDE, scan_all(b'"', OUTSIDE)))


def _opens_and_crosses(data: bytes, scanned: int) -> bool:
    """The same for a token that begins outside of strings, or in one."""
    depth, before = 0, b""
    for position, byte in enumerate(data):
        if scanned == OUTSIDE:
            follows_value = before not in _BEFORE_VALUES
            if byte == _COMMA and depth > 0:
                return follows_value
            if byte not in _OUTSIDE_BYTES or (byte == _COMMA and not follows_value):
                return False
            depth = max(0, depth + (byte in b"[{") - (byte in b"]}"))
            before = before if byte == _SPACE else data[position : position + 1]
        _, scanned = scan(byte, scanned)
    return False


def _ids(token_ids: Iterable[int]) -> NDArray[np.int32]:
    return np.array(list(token_ids), np.int32)
