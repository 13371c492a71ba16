"""Spellings: how a character of a grammar is written in symbols."""

from __future__ import annotations

import json
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from grammars.automata.charset import ALL_CHARACTERS, CharSet
from grammars.automata.pattern_ast import Alternation, Characters, Concatenation, Repetition
from grammars.automata.utf8_text import utf8_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grammars.automata.pattern_ast import Node

SymbolRanges: TypeAlias = list[tuple[int, int]]
"""Inclusive ranges of symbols, one a position."""

_ESCAPED: Final = CharSet.from_ranges([(0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
"""What cannot stand in a JSON string as it is (RFC 8259, section 7)."""


class Utf8:
    """UTF-8 (RFC 3629)."""

    def word(self, code_point: int) -> Sequence[int]:
        """The symbols that spell one character."""
        return chr(code_point).encode()

    def sequences(self, members: CharSet) -> Iterator[SymbolRanges]:
        """The spellings of the characters of a set, together exactly these."""
        for low, high in members.ranges:
            yield from utf8_ranges(low, high)


class JsonContent:
    """The content of a JSON string: UTF-8, with escapes only where they must be."""

    def word(self, code_point: int) -> Sequence[int]:
        """See `Utf8`."""
        return json.dumps(chr(code_point), ensure_ascii=False).encode()[1:-1]

    def sequences(self, members: CharSet) -> Iterator[SymbolRanges]:
        """See `Utf8`."""
        for low, high in members.intersect(_ESCAPED).ranges:
            for code_point in range(low, high + 1):
                yield [(byte, byte) for byte in self.word(code_point)]
        yield from Utf8().sequences(members.difference(_ESCAPED))


class Letters:
    """One symbol for all characters that no set of some nodes tells apart.

    Args:
        nodes: whose sets may be spelled.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        bounds = {0}
        for node in nodes:
            for members in _sets(node):
                bounds.update(members.bounds)
        self._bounds = sorted(bounds)

    @property
    def num_symbols(self) -> int:
        """How many symbols there are."""
        return len(self._bounds)

    def word(self, code_point: int) -> Sequence[int]:
        """See `Utf8`."""
        return (bisect_left(self._bounds, code_point),)

    def sequences(self, members: CharSet) -> Iterator[SymbolRanges]:
        """See `Utf8`."""
        for low, high in members.ranges:
            yield [(bisect_left(self._bounds, low), bisect_left(self._bounds, high + 1) - 1)]


Spelling: TypeAlias = Utf8 | JsonContent | Letters
"""A code of characters in which none begins another."""

UTF8: Final = Utf8()
JSON_CONTENT: Final = JsonContent()


@lru_cache(maxsize=4096)
def lead_bytes(members: CharSet, spelling: Spelling) -> frozenset[int]:
    """The symbols that a character of a set may begin with."""
    found: set[int] = set()
    for (low, high), *_ in spelling.sequences(members):
        found.update(range(low, high + 1))
    return frozenset(found)


def lead_bytes_of(node: Node, spelling: Spelling) -> frozenset[int]:
    """The symbols that a character of a node's texts may begin with."""
    found: frozenset[int] = frozenset()
    for members in set(_sets(node)):
        found |= lead_bytes(members, spelling)
    return found


def any_character() -> Characters:
    """The node of any one character."""
    return Characters(ALL_CHARACTERS)


def _sets(node: Node) -> Iterator[CharSet]:
    match node:
        case Characters(members):
            yield members
        case Concatenation(nodes) | Alternation(nodes):
            for part in nodes:
                yield from _sets(part)
        case Repetition(part):
            yield from _sets(part)
        case _:
            pass
