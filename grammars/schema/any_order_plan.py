"""AnyOrderPlan: an object shape whose keys may come in any order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grammars.schema.plans import Move, ObjectPlace, Step, can_close

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

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
        self._required = sum(1 << i for i, needed in enumerate(entries.is_required) if needed)
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
        for index in range(len(self._entries.declared)):
            if not place.written >> index & 1:
                yield from self._declared_steps(place, index)
        yield from self._entries.undeclared_steps(place)

    def moves(self, place: ObjectPlace) -> Iterator[Move[ObjectPlace]]:
        is_declared = place.index < len(self._entries.declared)
        is_written = is_declared and place.written >> place.index & 1
        # A key that was left out counts as written: what follows does not depend on it, so the
        # places after it are the same, and a search meets few instead of all sets of keys.
        written = place.written | 1 << place.index if is_declared else place.written
        following = replace(place, index=place.index + 1, written=written)
        if is_declared and (is_written or not self._entries.is_required[place.index]):
            yield Move(None, following)
        if is_written or place.most == self._shape.max_properties:
            return
        steps = (
            self._declared_steps(following, place.index)
            if is_declared
            else self._entries.undeclared_steps(place)
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

    def is_live(self, place: ObjectPlace, productive: Container[NodeId]) -> bool:
        """Whether the object can be closed from a place.

        Raises:
            LimitExceededError: there are too many places to look at.
        """
        if self._shape.witnesses:
            return can_close(self, productive, place)
        num_required = (self._required & ~place.written).bit_count()
        most = self._shape.max_properties
        room = None if most is None else most - place.most
        if room is not None and num_required > room:
            return False
        num_new = self._num_new(place, productive)
        num_left = num_new if room is None else min(num_new, room)
        return place.fewest + num_left >= self._shape.min_properties

    def keys(self) -> Iterator[str | CodePointDfa | AllBut]:
        """All keys of all steps."""
        return self._entries.keys()

    def needed(self) -> Iterator[NodeId]:
        return self._entries.needed()

    def nodes(self) -> Iterator[NodeId]:
        return self._entries.nodes()

    def _num_new(self, place: ObjectPlace, productive: Container[NodeId]) -> int:
        """How many keys can be added that surely differ from each other and from those written.

        No more are told than there must be.
        """
        groups = self._entries.groups
        if any(groups[number].node in productive for number in self._entries.counted_each):
            return self._shape.min_properties
        declared = sum(
            entry.node in productive and not place.written >> index & 1
            for index, entry in enumerate(self._entries.declared)
        )
        in_groups = sum(
            entry.node in productive and number not in place.met
            for number, entry in enumerate(groups)
        )
        return declared + in_groups

    def _declared_steps(self, place: ObjectPlace, index: int) -> Iterator[Step[ObjectPlace]]:
        entries = self._entries
        after = entries.count(replace(place, written=place.written | 1 << index))
        yield from entries.ways(entries.declared[index], after)
