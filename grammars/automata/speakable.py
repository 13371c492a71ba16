"""Texts that a vocabulary can spell, where it has no token for some bytes (`missing_bytes`)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from grammars.automata.operations import minimise
from grammars.automata.pattern_dfa import fullmatch

if TYPE_CHECKING:
    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa

_CHARACTERS_OF_LEAD_BYTE: Final = {0xF1: (0x40000, 0x7FFFF), 0xF2: (0x80000, 0xBFFFF)}
_FIRST_PRINTABLE: Final = 0x20


@lru_cache(maxsize=64)
def speakable_texts(missing_bytes: frozenset[int], *, is_json: bool) -> CodePointDfa | None:
    """All texts without the characters that need a missing byte; None where that is every text.

    Args:
        missing_bytes: control characters and lead bytes of unassigned planes (`Vocabulary` refuses
            tokenizers that lack others).
        is_json: the text is the content of a JSON string, where control characters are escaped.
    """
    ranges = [_CHARACTERS_OF_LEAD_BYTE.get(byte, (byte, byte)) for byte in sorted(missing_bytes)]
    if is_json:
        ranges = [(low, high) for low, high in ranges if low >= _FIRST_PRINTABLE]
    if not ranges:
        return None
    members = "".join(f"\\u{{{low:x}}}-\\u{{{high:x}}}" for low, high in ranges)
    return fullmatch(f"[^{members}]*")


def without_bytes(dfa: Dfa, missing_bytes: frozenset[int]) -> Dfa:
    """The texts of `dfa` in which no missing byte stands; the same object where none could."""
    used = [byte for byte in sorted(missing_bytes) if dfa.symbol_class[byte]]
    if not used:
        return dfa
    symbol_class = dfa.symbol_class.copy()
    symbol_class[used] = 0
    return minimise(
        type(dfa)(symbol_class, dfa.next_state, dfa.label, dfa.start, dfa.char_boundary)
    )
