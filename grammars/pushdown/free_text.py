"""The lexer of free text: well-formed UTF-8 in which given strings are watched for.

An Aho-Corasick automaton (Aho and Corasick 1975) over bytes, times the eight states of a UTF-8
reader (RFC 3629, section 4). A state inside a watched string knows its UTF-8 state, so only the
root is multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa

_BETWEEN: Final = 0  # UTF-8 states: 0 between characters, 1..7 inside one
_INVALID: Final = -1


@dataclass(frozen=True, slots=True)
class Watched:
    """A string, or one control token, that ends the free text where it appears.

    Args:
        spelling: its bytes; empty for a control token.
        symbol: its symbol (256 + i); None for a string.
        label: the label it ends the text with; NO_LABEL forbids it.
    """

    spelling: bytes
    symbol: int | None
    label: int


@lru_cache(maxsize=256)
def free_text_dfa(watched: tuple[Watched, ...], end_label: int) -> Dfa:
    """The automaton of free text; its start does not accept (terminals are never empty).

    Args:
        watched: what ends the text. No spelling may be a prefix of another.
        end_label: label of every state between characters, where the text may just end; NO_LABEL if
            only a watched string ends it.
    """
    strings = [item for item in watched if item.symbol is None]
    search_next, ends = _aho_corasick([item.spelling for item in strings])
    utf8_of = _utf8_after_prefixes([item.spelling for item in strings], len(ends))
    num_inner = len(ends)  # search state 0 is the root
    # DFA states: 0 dead, 1 start, 2..9 the root by UTF-8 state, then the inner search states.
    root, inner = 2, 2 + len(_UTF8_NEXT) - 1
    num_states = inner + num_inner
    num_symbols = max(
        [NUM_BYTES, *(item.symbol + 1 for item in watched if item.symbol is not None)]
    )
    rows = np.zeros((num_states, num_symbols), np.int32)
    label = np.zeros(num_states, np.int32)
    target_of_search = np.arange(num_inner) + inner
    for index, number in enumerate(ends):
        if number is not None and strings[number].label == NO_LABEL:
            target_of_search[index] = DEAD
    sources = [(1, 0, 0)]
    sources += [(root + utf8, 0, utf8) for utf8 in range(len(_UTF8_NEXT))]
    sources += [(inner + s, s, utf8_of[s]) for s in range(1, num_inner) if ends[s] is None]
    for state, search, utf8 in sources:
        next_utf8 = _UTF8_NEXT[utf8]
        next_search = search_next[search]
        row = np.where(next_search == 0, root + next_utf8, target_of_search[next_search])
        rows[state, :NUM_BYTES] = np.where(next_utf8 == _INVALID, DEAD, row)
        if utf8 == _BETWEEN and state != 1:
            label[state] = end_label
    finals: dict[int, int] = {}  # label -> the one state that ends the text with it
    for search, number in enumerate(ends):
        if number is not None and strings[number].label != NO_LABEL:
            label[inner + search] = strings[number].label
            finals[strings[number].label] = inner + search
    between = [state for state, _, utf8 in sources if utf8 == _BETWEEN]
    for item in watched:
        if item.symbol is not None and item.label != NO_LABEL:
            if item.label not in finals:
                finals[item.label] = len(label)
                rows = np.vstack([rows, np.zeros((1, num_symbols), np.int32)])
                label = np.append(label, np.int32(item.label))
            rows[between, item.symbol] = finals[item.label]
    return _reachable(rows, label)


def _reachable(rows: NDArray[np.int32], label: NDArray[np.int32]) -> Dfa:
    """The automaton of the states that the start (state 1) leads to."""
    order, seen = [1], {DEAD, 1}
    for state in order:
        new = [target for target in np.unique(rows[state]).tolist() if target not in seen]
        seen.update(new)
        order += new
    renumbered = np.zeros(len(rows), np.int32)
    renumbered[order] = np.arange(1, len(order) + 1)
    kept = [DEAD, *order]
    return build_dfa(
        renumbered[rows[kept]], np.arange(rows.shape[1], dtype=np.int32), label[kept], 1
    )


def _aho_corasick(
    spellings: list[bytes],
) -> tuple[NDArray[np.int32], list[int | None]]:
    """Next search state per byte, and which spelling ends in each state."""
    children: list[dict[int, int]] = [{}]
    ends: list[int | None] = [None]
    for number, spelling in enumerate(spellings):
        state = 0
        for byte in spelling:
            if byte not in children[state]:
                children[state][byte] = len(children)
                children.append({})
                ends.append(None)
            state = children[state][byte]
        ends[state] = number
    rows = np.zeros((len(children), NUM_BYTES), np.int32)
    queue: list[tuple[int, int]] = [(0, 0)]  # state, its longest proper suffix that is a state
    for state, fallback in queue:
        if state:
            rows[state] = rows[fallback]
            if ends[state] is None:
                ends[state] = ends[fallback]
        queue += [(child, int(rows[state, byte])) for byte, child in children[state].items()]
        for byte, child in children[state].items():
            rows[state, byte] = child
    return rows, ends


def _utf8_after_prefixes(spellings: list[bytes], num_states: int) -> list[int]:
    """The UTF-8 state of each search state (numbered as `_aho_corasick` numbers them)."""
    known: dict[bytes, int] = {b"": _BETWEEN}
    for spelling in spellings:
        for length in range(1, len(spelling) + 1):
            prefix = spelling[:length]
            if prefix not in known:
                known[prefix] = int(_UTF8_NEXT[known[prefix[:-1]]][prefix[-1]])
    states = list(known.values())
    assert len(states) == num_states
    return states


def _utf8_table() -> NDArray[np.int32]:
    """Next UTF-8 state by state and byte; the eight rows of RFC 3629, section 4."""
    one_more, two_more, three_more, after_e0, after_ed, after_f0, after_f4 = range(1, 8)
    ranges = [
        (_BETWEEN, 0x00, 0x7F, _BETWEEN),
        (_BETWEEN, 0xC2, 0xDF, one_more),
        (_BETWEEN, 0xE0, 0xE0, after_e0),
        (_BETWEEN, 0xE1, 0xEC, two_more),
        (_BETWEEN, 0xED, 0xED, after_ed),
        (_BETWEEN, 0xEE, 0xEF, two_more),
        (_BETWEEN, 0xF0, 0xF0, after_f0),
        (_BETWEEN, 0xF1, 0xF3, three_more),
        (_BETWEEN, 0xF4, 0xF4, after_f4),
        (one_more, 0x80, 0xBF, _BETWEEN),
        (two_more, 0x80, 0xBF, one_more),
        (three_more, 0x80, 0xBF, two_more),
        (after_e0, 0xA0, 0xBF, one_more),
        (after_ed, 0x80, 0x9F, one_more),
        (after_f0, 0x90, 0xBF, two_more),
        (after_f4, 0x80, 0x8F, two_more),
    ]
    table = np.full((8, NUM_BYTES), _INVALID, np.int32)
    for state, low, high, target in ranges:
        table[state, low : high + 1] = target
    return table


_UTF8_NEXT: Final = _utf8_table()
