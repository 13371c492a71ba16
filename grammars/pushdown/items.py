"""Items: what a structural state is a set of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.pushdown.configs import ConfigId


class Item(NamedTuple):
    """One way in which a frame may go on.

    Args:
        tags: bits of the items of the frame below that go on when this one ends its frame; 0 where
            there is no frame below.
        config: what is expected here.
    """

    tags: int
    config: ConfigId


Items: TypeAlias = tuple[Item, ...]


def merged_items(items: Iterable[Item]) -> Items:
    """The items with each config once, for all items below that any of them belongs to.

    Where frames may be nested in many ways, there are more ways than configs: by far.
    """
    tags: dict[ConfigId, int] = {}
    for item in items:
        tags[item.config] = tags.get(item.config, 0) | item.tags
    return tuple(Item(of_below, config) for config, of_below in tags.items())
