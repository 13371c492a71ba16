"""utf8_dfa: a language of code points, spelled as plain UTF-8 (RFC 3629)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import DEAD, NO_LABEL, Dfa
from grammars.automata.lexer import LexerBuilder
from grammars.automata.operations import minimise
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from grammars.automata.codepoint_dfa import CodePointDfa

_LAST_OF_LENGTH: Final = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)
_LAST_CODE_POINT: Final = 0x10FFFF


def utf8_dfa(content: CodePointDfa, *, max_states: int) -> Dfa:
    """The UTF-8 spellings of the texts of `content`; label 1, minimal.

    The product of `content` and an automaton that reads one character and tells its class.

    Raises:
        LimitExceededError: it needs more than `max_states` states before it is minimised.
    """
    character, class_of_state = _character_dfa(content, max_states)
    num_inner = character.num_states
    num_states = content.num_states * num_inner
    if num_states > max_states:
        raise LimitExceededError("max_states", max_states, "a text automaton")
    # State s * num_inner + m: s of `content`, m inside a character; m = start is between two.
    read = character.next_state
    table = np.zeros((num_states, read.shape[1]), np.int32)
    for state in range(1, content.num_states):
        after = content.next_state[state, class_of_state] * num_inner + character.start
        after[after == character.start] = DEAD  # the class leads nowhere
        target = np.where(class_of_state > 0, after, state * num_inner + np.arange(num_inner))
        target[DEAD] = DEAD
        table[state * num_inner + 1 : (state + 1) * num_inner] = target[read[1:]]
    label = np.zeros(num_states, np.int32)
    label[np.flatnonzero(content.accepting) * num_inner + character.start] = 1
    start = content.start * num_inner + character.start if content.start else DEAD
    boundary = np.zeros(num_states, np.bool_)
    return minimise(Dfa(character.symbol_class, table, label, start, boundary))


def _character_dfa(content: CodePointDfa, max_states: int) -> tuple[Dfa, NDArray[np.int32]]:
    """Reads one character; and the class that each of its states accepts, 0 where none."""
    builder = LexerBuilder(max_states)
    ends = np.append(content.range_start[1:] - 1, _LAST_CODE_POINT)
    ranges = zip(content.range_start, ends, content.range_class, strict=True)
    for low, high, number in ranges:
        if number:
            for sequence in utf8_ranges(int(low), int(high)):
                state = LexerBuilder.start
                for first, last in sequence:
                    state = builder.range(state, first, last)
                builder.accept(state, int(number))
    lexer = builder.determinise()
    class_of_label = np.array([0, *(next(iter(items)) for items in lexer.items)], np.int32)
    assert all(len(items) == 1 for items in lexer.items), "classes are disjoint"
    labels = np.where(lexer.dfa.label == NO_LABEL, 0, lexer.dfa.label)
    return lexer.dfa, class_of_label[labels]


def utf8_ranges(low: int, high: int) -> Iterator[list[tuple[int, int]]]:
    """Byte ranges, one a position, that together spell exactly low .. high."""
    first = 0
    for length, last in enumerate(_LAST_OF_LENGTH, 1):
        if low <= last and high >= first:
            yield from _split(max(low, first), min(high, last), length)
        first = last + 1


def _split(low: int, high: int, length: int) -> Iterator[list[tuple[int, int]]]:
    """As `utf8_ranges`, for code points of one length, cut where continuation bytes wrap."""
    for position in range(length - 1, 0, -1):
        block = 1 << 6 * position
        if low // block == high // block:
            continue
        if low % block:
            edge = (low // block + 1) * block
            yield from _split(low, edge - 1, length)
            yield from _split(edge, high, length)
            return
        if high % block != block - 1:
            edge = high // block * block
            yield from _split(low, edge - 1, length)
            yield from _split(edge, high, length)
            return
    yield list(zip(_encode(low), _encode(high), strict=True))


def _encode(code_point: int) -> bytes:
    return chr(code_point).encode("utf-8", "surrogatepass")
