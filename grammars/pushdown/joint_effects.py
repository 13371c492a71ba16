"""What the effects of one label come to together; each has the tags of the item that it is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from grammars.pushdown.items import Item, merged_items
from grammars.pushdown.refusals import ambiguous_parts
from grammars.pushdown.transitions import Continue, Enter, Leave

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammars.pushdown.items import Items
    from grammars.pushdown.transitions import Effect

Effects: TypeAlias = "Iterable[tuple[int, Effect]]"


def continued_items(effects: Effects) -> Items:
    """What the items become.

    Raises:
        UnsupportedError: the label means different things to them, as in the others here.
    """

    def items() -> Iterator[Item]:
        for tags, effect in effects:
            if not isinstance(effect, Continue):
                raise ambiguous_parts()
            yield Item(tags, effect.then)

    return merged_items(items())


def entered_items(effects: Effects) -> tuple[Items, Items]:
    """The items of the frame that waits, and those of the frame that begins."""
    below: dict[Item, int] = {}
    inner: list[Item] = []
    for tags, effect in effects:
        if not isinstance(effect, Enter):
            raise ambiguous_parts()
        number = below.setdefault(Item(tags, effect.then), len(below))
        inner += [Item(1 << number, config) for config in effect.inner]
    return tuple(below), merged_items(inner)


def outcome_of(effects: Effects) -> int:
    """The outcome with which the frame ends."""
    outcome = 0
    for tags, effect in effects:
        if not isinstance(effect, Leave):
            raise ambiguous_parts()
        outcome |= tags
    return outcome
