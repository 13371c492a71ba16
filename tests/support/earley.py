"""A plain Earley recogniser over characters: the oracle of the grammar tests.

J. Earley, "An efficient context-free parsing algorithm" (CACM 13(2), 1970), completed to a fixpoint
at each character, so that nullable rules need no special care. Slow and short on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Symbol: TypeAlias = "str | Callable[[str], bool]"
"""A rule's name, or a test of one character."""

Productions: TypeAlias = dict[str, list[tuple[Symbol, ...]]]


class _Item(NamedTuple):
    rule: str
    production: int
    dot: int
    origin: int


def recognises(productions: Productions, start: str, text: str) -> bool:
    """Whether `text` is derived from `start`."""
    sets: list[set[_Item]] = [
        {_Item(start, number, 0, 0) for number in range(len(productions[start]))}
    ]
    for index in range(len(text) + 1):
        following: set[_Item] = set()
        while True:
            found: set[_Item] = set()
            for item in sets[index]:
                symbols = productions[item.rule][item.production]
                if item.dot == len(symbols):
                    for caller in sets[item.origin]:
                        expected = productions[caller.rule][caller.production]
                        if caller.dot < len(expected) and expected[caller.dot] == item.rule:
                            found.add(caller._replace(dot=caller.dot + 1))
                    continue
                symbol = symbols[item.dot]
                if isinstance(symbol, str):
                    found |= {_Item(symbol, n, 0, index) for n in range(len(productions[symbol]))}
                elif index < len(text) and symbol(text[index]):
                    following.add(item._replace(dot=item.dot + 1))
            if found <= sets[index]:
                break
            sets[index] |= found
        sets.append(following)
    return any(
        item.rule == start
        and item.origin == 0
        and item.dot == len(productions[start][item.production])
        for item in sets[len(text)]
    )
