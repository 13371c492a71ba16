"""in_any_case: the texts of a node with each letter in both cases (Lark's flag `i`)."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from grammars.automata.charset import CharSet
from grammars.automata.pattern_ast import Alternation, Characters, Concatenation, Repetition

if TYPE_CHECKING:
    from grammars.automata.pattern_ast import Node
    from grammars.cfg.source import Source

CASES_PER_PART: Final = 8
"""Letters whose other case is looked up for what one part costs."""


def in_any_case(node: Node, source: Source) -> Node:
    """The node with each letter in both cases, where these are single characters.

    Raises:
        LimitExceededError: the grammar has too many parts.
    """

    def both(inner: Node) -> Node:
        match inner:
            case Characters(members):
                source.count_parts(len(_other_cases(members)) // CASES_PER_PART)
                return Characters(_with_other_cases(members))
            case Concatenation(parts):
                return Concatenation(tuple(map(both, parts)))
            case Alternation(options):
                return Alternation(tuple(map(both, options)))
            case Repetition(part, minimum, maximum):
                return Repetition(both(part), minimum, maximum)
            case _:
                return inner

    return both(node)


def _other_cases(members: CharSet) -> list[int]:
    """The other cases of the letters in a set, as far as they have one."""
    letters, others = _case_pairs()
    found: list[int] = []
    for first, last in members.ranges:
        found += others[bisect_left(letters, first) : bisect_right(letters, last)]
    return found


@lru_cache(maxsize=1024)
def _with_other_cases(members: CharSet) -> CharSet:
    others = _other_cases(members)
    return CharSet.from_ranges([*members.ranges, *zip(others, others, strict=True)])


@lru_cache(maxsize=1)
def _case_pairs() -> tuple[list[int], list[int]]:
    """Letters that are each other's only other case: ascending, and the other of each."""
    pairs: list[tuple[int, int]] = []
    for code_point in range(sys.maxunicode + 1):
        letter = chr(code_point)
        lower = letter.lower()
        if lower != letter and len(lower) == 1 and lower.upper() == letter:
            pairs += ((code_point, ord(lower)), (ord(lower), code_point))
    pairs.sort()
    return [letter for letter, _ in pairs], [other for _, other in pairs]
