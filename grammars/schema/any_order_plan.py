"""AnyOrderPlan: an object shape whose keys may come in any order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from grammars.schema.counted_places import CountedPlaces, bits_where
from grammars.schema.plans import Move, ObjectPlace, Step, can_close

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.schema.object_entries import ObjectEntries
    from grammars.schema.plans import AllBut
    from grammars.schema.value import NodeId, ObjectShape


class AnyOrderPlan:
    """All keys at any time, each declared one once.

    Which ones are written is a set of bits in the place, so only the sets that texts come to are
    ever places. Whether the object can be closed depends on no order; so the keys that are left
    are tried in one order (`moves`), or only counted.

    Args:
        shape: the objects.
        entries: their keys.
        max_places: places that a search may visit.
    """

    def __init__(self, shape: ObjectShape, entries: ObjectEntries, max_places: int) -> None:
        self._shape = shape
        self._entries = entries
        self._required = bits_where(entries.is_required)
        self.max_places = max_places
        self.start = entries.start
        self.has_distinct_texts = bool(entries.groups)
        self.needs_search = bool(
            shape.min_properties
            or shape.witnesses
            or (shape.max_properties is not None and shape.required)
        )

    @property
    def plain_keys(self) -> ObjectEntries | None:
        """All keys, where a place tells no more than which are written; None where it does."""
        return None if self._entries.is_counted or self._shape.witnesses else self._entries

    def steps(self, place: ObjectPlace) -> Iterator[Step[ObjectPlace]]:
        if place.most == self._shape.max_properties:
            return
        entries = self._entries
        after = entries.count(place)  # alike for all declared keys, but for those that are written
        for index, entry in enumerate(entries.declared):
            if not place.written >> index & 1:
                yield from entries.ways(entry, after.with_written(place.written | 1 << index))
        yield from entries.undeclared_steps(place)

    def moves(self, place: ObjectPlace) -> Iterator[Move[ObjectPlace]]:
        is_declared = place.index < len(self._entries.declared)
        is_written = is_declared and place.written >> place.index & 1
        # A key that was left out counts as written: what follows does not depend on it, so the
        # places after it are the same, and a search meets few instead of all sets of keys.
        written = place.written | 1 << place.index if is_declared else place.written
        following = place.at(place.index + 1).with_written(written)
        if is_declared and (is_written or not self._entries.is_required[place.index]):
            yield Move(None, following)
        if is_written or place.most == self._shape.max_properties:
            return
        entries = self._entries
        steps = (
            entries.ways(entries.declared[place.index], entries.count(following))
            if is_declared
            else entries.undeclared_steps(place)
        )
        for step in steps:
            yield Move(step.node, step.place)

    def least_moves(self, productive: Container[NodeId]) -> int:
        return self._entries.least_moves(productive)

    def may_close(self, place: ObjectPlace) -> bool:
        return (
            place.fewest >= self._shape.min_properties
            and not place.owed
            and not self._required & ~place.written
        )

    def live_test(self, productive: Container[NodeId]) -> Callable[[ObjectPlace], bool]:
        if self._shape.witnesses:
            return partial(can_close, self, productive)
        return CountedPlaces(self._shape, self._entries, productive).has

    def keys(self) -> Iterator[str | CodePointDfa | AllBut]:
        """All keys of all steps."""
        return self._entries.keys()

    def needed(self) -> Iterator[NodeId]:
        return self._entries.needed()

    def nodes(self) -> Iterator[NodeId]:
        return self._entries.nodes()
