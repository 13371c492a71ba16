"""ObjectPlan: an object shape, key by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.schema.counted_places import CountedPlaces
from grammars.schema.plans import Move, ObjectPlace, Step, check_least_moves, live_places

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.schema.object_entries import ObjectEntries
    from grammars.schema.plans import AllBut
    from grammars.schema.value import NodeId, ObjectShape


class ObjectPlan:
    """Declared keys in order, then undeclared ones in any order.

    Args:
        shape: the objects.
        entries: their keys.
        max_places: places that a search may visit.
    """

    def __init__(self, shape: ObjectShape, entries: ObjectEntries, max_places: int) -> None:
        self._shape = shape
        self._entries = entries
        self.max_places = max_places
        self.start = self._entries.start
        self.has_distinct_texts = bool(self._entries.groups)
        self._num_needed = max(
            (i + 1 for i, is_required in enumerate(self._entries.is_required) if is_required),
            default=0,
        )
        self._is_plain = not (self._entries.is_counted or shape.witnesses)
        self._plain_steps: list[Step[ObjectPlace]] = []  # made when they are asked for
        self.needs_search = bool(
            shape.min_properties
            or shape.witnesses
            or (shape.max_properties is not None and shape.required)
        )

    @property
    def plain_keys(self) -> ObjectEntries | None:
        """All keys, where a place tells no more than its index; None where it does."""
        return self._entries if self._is_plain else None

    def steps(self, place: ObjectPlace) -> Iterator[Step[ObjectPlace]]:
        if place.most == self._shape.max_properties:
            return
        past = next(
            (
                i + 1
                for i in range(place.index, len(self._entries.declared))
                if self._is_required(i)
            ),
            None,
        )
        if self._is_plain:
            self._plain_steps = self._plain_steps or list(self._all_steps())
            yield from self._plain_steps[place.index : past]
            return
        entries = self._entries
        after = entries.count(place)  # alike for all declared keys, but for the index
        for index in range(place.index, len(entries.declared) if past is None else past):
            yield from entries.ways(entries.declared[index], after.at(index + 1))
        if past is None:
            yield from self._undeclared_steps(place)

    def moves(self, place: ObjectPlace) -> Iterator[Move[ObjectPlace]]:
        is_declared = place.index < len(self._entries.declared)
        if is_declared and not self._is_required(place.index):
            yield Move(None, place.at(place.index + 1))
        if place.most == self._shape.max_properties:
            return
        entries = self._entries
        steps = (
            entries.ways(entries.declared[place.index], entries.count(place).at(place.index + 1))
            if is_declared
            else self._undeclared_steps(place)
        )
        for step in steps:
            yield Move(step.node, step.place)

    def least_moves(self, productive: Container[NodeId]) -> int:
        return self._entries.least_moves(productive)

    def may_close(self, place: ObjectPlace) -> bool:
        return (
            place.fewest >= self._shape.min_properties
            and not place.owed
            and place.index >= self._num_needed
        )

    def live_test(self, productive: Container[NodeId]) -> Callable[[ObjectPlace], bool]:
        if self._shape.witnesses:
            return live_places(self, productive).__contains__
        check_least_moves(self, productive)
        return CountedPlaces(self._shape, self._entries, productive).has

    def keys(self) -> Iterator[str | CodePointDfa | AllBut]:
        """All keys of all steps."""
        return self._entries.keys()

    def needed(self) -> Iterator[NodeId]:
        return self._entries.needed()

    def nodes(self) -> Iterator[NodeId]:
        return self._entries.nodes()

    def _is_required(self, index: int) -> bool:
        return self._entries.is_required[index]

    def _all_steps(self) -> Iterator[Step[ObjectPlace]]:
        """The steps of declared keys, then of others, where nothing is counted and nothing owed.

        Every place has some of these.
        """
        for index, entry in enumerate(self._entries.declared):
            yield Step(entry.key, entry.node, ObjectPlace(index + 1))
        yield from self._undeclared_steps(self.start)

    def _undeclared_steps(self, place: ObjectPlace) -> Iterator[Step[ObjectPlace]]:
        yield from self._entries.undeclared_steps(place.at(len(self._entries.declared)))
