"""Texts that a vocabulary can spell, where it has no token for some bytes (`missing_bytes`)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import DEAD, NO_LABEL
from grammars.automata.operations import minimise
from grammars.automata.pattern_dfa import fullmatch
from grammars.automata.reach import reachable_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    next_state = _trimmed(dfa, symbol_class)
    return minimise(type(dfa)(symbol_class, next_state, dfa.label, dfa.start, dfa.char_boundary))


def _trimmed(dfa: Dfa, symbol_class: NDArray[np.uint16]) -> NDArray[np.int32]:
    """The transitions without those of no symbol, and without those from which no text ends."""
    next_state = np.zeros_like(dfa.next_state)
    classes = np.unique(symbol_class[symbol_class != 0])
    next_state[:, classes] = dfa.next_state[:, classes]
    ends = reachable_labels(next_state, (dfa.label != NO_LABEL).astype(np.int32)) != 0
    return np.where(ends[next_state], next_state, DEAD).astype(np.int32)
