"""StringReading: whether strings are read whole, counted, or piece by piece.

One lexer reads all strings that may come next in a state. Where that would be large (a long list, a
pattern with counts, bounds of different lengths in alternatives), each of them is cut after equally
many characters, and what is left is read in a frame of its own (`configs.InString`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from grammars.automata.codepoint_dfa import any_string
from grammars.automata.few_texts import few_texts
from grammars.automata.string_list import StringList
from grammars.automata.string_rest import StringRest, piece_length, spelling_weight
from grammars.pushdown.spelled_strings import is_spelled_as_any
from grammars.pushdown.terminals import Numbers, StringPiece, StringTail, Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.pushdown.terminals import Terminal
    from grammars.schema.value import StringSet

_STATES_OF_ONE: Final = 96 * 1024
"""States, about, that a single string may have to be read whole."""

_SURELY_FEW: Final = 128
"""States of a content that is read whole without another look."""

_STATES_OF_PIECE: Final = 8 * 1024
"""States, about, of a piece; and of strings that meet, if they are to be read whole."""

_STATES_OF_LIST_PIECE: Final = 512
"""States, about, of a piece of a long list: its strings part soon, so a text sees few of them."""

_FEW_RESTS: Final = 32
"""So many pieces behind one are made as they are met."""


@dataclass(frozen=True, slots=True)
class StringReading:
    """How a state reads its strings.

    Args:
        counted: the one whose length the state's counter checks, see `automata.lengths`.
        length: characters of a piece; None where strings are read whole.
        are_words: whether each of them is a few texts, which are read as words.
    """

    counted: StringRest | None = None
    length: int | None = None
    are_words: bool = False


@dataclass(frozen=True, slots=True)
class CutStrings:
    """Strings that a state reads in pieces, and nothing that begins like them.

    Args:
        rests: the strings, which have no bounds; distinct.
        is_open: whether their opening quote has been read.
        are_many: whether behind the pieces lie more of them than a mask should have made: it reads
            the content instead (`masks.long_strings`).
    """

    rests: tuple[StringRest, ...]
    is_open: bool
    are_many: bool


WHOLE: Final = StringReading()
ONE_CHARACTER: Final = StringReading(length=1)
WORDS: Final = StringReading(are_words=True)


def rest_of(strings: StringSet) -> StringRest:
    """The strings of a set, of which nothing has been read."""
    content = any_string() if strings.content is None else strings.content
    return StringRest(content, content.start, strings.min_length, strings.max_length)


def string_readings(found: frozenset[StringRest]) -> Iterator[StringReading]:
    """The ways to read the strings of a state, the best first, the later ones in smaller lexers.

    Args:
        found: what may come next.
    """
    if len(found) > 1 and all(map(_are_words, found)):
        yield WORDS
    if len(found) == 1:
        [only] = found
        if _has_few_states(only.content):
            if only.is_bounded:
                yield StringReading(only)
            if not only.is_bounded or _num_states(only) <= _STATES_OF_ONE:
                yield WHOLE
    elif _can_meet(found):
        yield WHOLE
    length = min((_piece_length(rest) for rest in found), default=0)
    while length > 0:
        yield StringReading(length=length)
        length //= 2


def cut_strings(found: frozenset[StringRest], terminals: Iterable[Terminal]) -> CutStrings | None:
    """The strings of a state that are read in pieces; None where they are not, or have bounds.

    Args:
        found: what may come next.
        terminals: that the state reads.
    """
    pieces: list[StringPiece | StringTail] = []
    for terminal in terminals:
        if isinstance(terminal, StringPiece | StringTail):
            pieces.append(terminal)
        elif not isinstance(terminal, Numbers) and not _is_plain_word(terminal):
            return None
    if not pieces or any(rest.is_bounded for rest in found):
        return None
    num_rests = sum(not piece.is_ended for piece in pieces)
    has_list = any(isinstance(rest.content, StringList) for rest in found)
    are_many = num_rests > (0 if has_list else _FEW_RESTS)
    return CutStrings(tuple(found), pieces[0].is_open, are_many)


def _is_plain_word(terminal: Terminal) -> bool:
    """Whether it is a word that does not begin as a string does."""
    if not isinstance(terminal, Word):
        return False
    first = terminal.pieces[0]
    return isinstance(first, bytes) and not first.startswith(b'"')


def _are_words(rest: StringRest) -> bool:
    """Whether a string is one of a few texts, and may be read as any string is spelled."""
    texts = None if rest.is_bounded else few_texts(rest.content)
    return texts is not None and all(map(is_spelled_as_any, texts))


def _has_few_states(content: CodePointDfa) -> bool:
    """Whether a string may be read whole."""
    return (
        content.num_states <= _SURELY_FEW
        or content.num_states * spelling_weight(content) <= _STATES_OF_ONE
    )


def _can_meet(found: frozenset[StringRest]) -> bool:
    """Whether several strings are few states in one lexer, bounds multiplied in."""
    num_pairs = prod(rest.content.num_states for rest in found)
    return num_pairs <= _STATES_OF_PIECE and sum(map(_num_states, found)) <= _STATES_OF_PIECE


def _piece_length(rest: StringRest) -> int:
    """Characters of a piece, no more than the string may have."""
    is_list = isinstance(rest.content, StringList)
    length = piece_length(rest, _STATES_OF_LIST_PIECE if is_list else _STATES_OF_PIECE)
    return length if rest.most is None else min(length, rest.most + 1)


def _num_states(rest: StringRest) -> int:
    """States of a string as it is spelled, about, its bounds multiplied in."""
    num_counts = 1 + (rest.fewest if rest.most is None else rest.most)
    return rest.content.num_states * spelling_weight(rest.content) * num_counts
