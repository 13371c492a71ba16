"""CountedPlaces: whether an object with bounds on its number of keys can be closed, by counting."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from grammars.schema.object_entries import ObjectEntries
    from grammars.schema.plans import ObjectPlace
    from grammars.schema.value import NodeId, ObjectShape


class CountedPlaces:
    """Tells whether an object without witnesses can be closed, its keys in either order.

    Which keys come next does not matter, only how many must and how many can: the required ones,
    and as many of the others as there is room for.

    Args:
        shape: the objects.
        entries: their keys.
        productive: nodes that have values, those of the required keys among them.
    """

    def __init__(
        self, shape: ObjectShape, entries: ObjectEntries, productive: Container[NodeId]
    ) -> None:
        assert not shape.witnesses, "what a witness needs is no number"
        self._fewest, self._most = shape.min_properties, shape.max_properties
        self._required = bits_where(entries.is_required)
        self._declared = bits_where([entry.node in productive for entry in entries.declared])
        groups = [i for i, entry in enumerate(entries.groups) if entry.node in productive]
        self._is_endless = not entries.counted_each.isdisjoint(groups)
        self._groups = frozenset(groups)

    def has(self, place: ObjectPlace) -> bool:
        """Whether the object can be closed from a place that productive nodes lead to."""
        num_missing = self._fewest - place.fewest
        if self._most is not None:
            room = self._most - place.most
            if num_missing > room or (self._required and _num_left(self._required, place) > room):
                return False
        return num_missing <= 0 or self._is_endless or self._num_new(place) >= num_missing

    def _num_new(self, place: ObjectPlace) -> int:
        """How many keys can come that surely differ from each other and from those written."""
        return _num_left(self._declared, place) + len(self._groups - place.met)


def bits_where(flags: list[bool]) -> int:
    """Bit i is set where flag i is."""
    digits = "".join("1" if flag else "0" for flag in reversed(flags))
    return int(digits or "0", 2)


def _num_left(declared: int, place: ObjectPlace) -> int:
    """How many of some declared keys, given as bits, may still come."""
    return ((declared & ~place.written) >> place.index).bit_count()
