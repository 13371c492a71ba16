"""shortest_strings: the strings of a language one by one, the shortest first."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from grammars.automata.charset import NUM_CODE_POINTS
from grammars.automata.lengths import measure
from grammars.automata.string_list import StringList

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa


def shortest_strings(content: CodePointDfa, most: int) -> Iterator[str]:
    """The strings of a language, the shortest first: all of them, or `most` and perhaps more."""
    if content.is_empty:
        return
    if isinstance(content, StringList):
        yield from content.texts()
        return
    shortest, _ = measure(content.next_state, content.accepting)
    distance = shortest.tolist()
    first, symbol, target = content.edge_lists()
    characters = _characters_of(content)
    # Beginnings by the length of the shortest string that begins so. Of one length no more than
    # `most` are kept, since each is of another string; each is gone on with once.
    beginnings: dict[int, list[tuple[int, str]]] = {distance[content.start]: [(content.start, "")]}
    while beginnings:
        length = min(beginnings)
        pending = beginnings.pop(length)[::-1]
        while pending:
            state, text = pending.pop()
            if content.accepting[state]:
                yield text
            edges = slice(first[state], first[state + 1])
            going_on: list[tuple[int, str]] = []
            for number, after in zip(symbol[edges].tolist(), target[edges].tolist(), strict=True):
                reached = len(text) + 1 + distance[after]
                found = going_on if reached == length else beginnings.setdefault(reached, [])
                points = chain.from_iterable(characters[number])
                num_wanted = max(0, most - len(found))
                found += [(after, text + chr(point)) for point in islice(points, num_wanted)]
            pending += reversed(going_on)


def _characters_of(content: CodePointDfa) -> dict[int, list[range]]:
    """The characters of each class of an automaton, class 0 aside."""
    ends = [*content.range_start[1:].tolist(), NUM_CODE_POINTS]
    characters: dict[int, list[range]] = {}
    for begin, end, number in zip(
        content.range_start.tolist(), ends, content.range_class.tolist(), strict=True
    ):
        characters.setdefault(number, []).append(range(begin, end))
    return characters
