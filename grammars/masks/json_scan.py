r"""scan: what a byte of a JSON text adds to its canonical spelling.

The spelling is canonical already, but for a space between tokens and the case of the digits of
`\u001F`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

OUTSIDE: Final = 0
INSIDE: Final = 1
_ESCAPE: Final = 2
_DIGITS: Final = 3
"""Inside `\\u`: this and the next three, one for each digit that has been read."""


_TURNS: Final = frozenset(b",]} ")
_UPPER_DIGITS: Final = frozenset(b"ABCDEF")


def unwritten_bytes(state: int) -> frozenset[int]:
    """Bytes that may be read where the canonical spelling of a value goes on with others.

    They end a number, stand between tokens, or are digits in the other case.
    """
    if state == OUTSIDE:
        return _TURNS
    return _UPPER_DIGITS if state >= _DIGITS else frozenset()


def scan(symbol: int, state: int) -> tuple[int | None, int]:
    """Read a symbol.

    Args:
        symbol: of the text.
        state: where the scanner is; OUTSIDE where no string is open.

    Returns:
        The byte to compare, None for a space between tokens; where the scanner is then.
    """
    if state == OUTSIDE:
        if symbol == ord(" "):
            return None, OUTSIDE
        return symbol, INSIDE if symbol == ord('"') else OUTSIDE
    if state == INSIDE:
        following = {ord('"'): OUTSIDE, ord("\\"): _ESCAPE}.get(symbol, INSIDE)
        return symbol, following
    if state == _ESCAPE:
        return symbol, _DIGITS if symbol == ord("u") else INSIDE
    digit = ord(chr(symbol).lower())
    return digit, state + 1 if state < _DIGITS + 3 else INSIDE


@lru_cache(maxsize=1 << 14)
def scan_all(data: bytes, state: int) -> int:
    """Where the scanner is after some bytes."""
    for byte in data:
        _, state = scan(byte, state)
    return state
