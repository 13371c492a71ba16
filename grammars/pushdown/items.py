"""Items: what a structural state is a set of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.pushdown.configs import ConfigId


class Item(NamedTuple):
    """One way in which a frame may go on.

    Args:
        tag: the item of the frame below that this frame's end belongs to.
        config: what is expected here.
    """

    tag: int
    config: ConfigId


Items: TypeAlias = tuple[Item, ...]


def distinct_items(items: Iterable[Item]) -> Items:
    """The items without repeats."""
    return tuple(dict.fromkeys(items))
