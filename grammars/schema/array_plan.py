"""ArrayPlan: an array shape, element by element."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from grammars.errors import LimitExceededError
from grammars.schema.plans import ArrayPlace, Move, Step, live_places

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from grammars.limits import CompileLimits
    from grammars.schema.value import ArrayShape, Count, NodeId


class ArrayPlan:
    """Elements one after the other.

    Args:
        shape: the arrays.
        conjoin: makes the node of "both of these nodes".
        negate: makes the node of everything but a node.
        limits: budgets of witness sets and of places.

    Raises:
        LimitExceededError: one element can meet too many sets of conditions.
    """

    def __init__(
        self,
        shape: ArrayShape,
        conjoin: Callable[[NodeId, NodeId], NodeId],
        negate: Callable[[NodeId], NodeId],
        limits: CompileLimits,
    ) -> None:
        if 2 ** len(shape.counts) > limits.max_witness_sets:
            raise LimitExceededError(
                "max_witness_sets", limits.max_witness_sets, "an array with many `contains`"
            )
        self.max_places = limits.max_places
        self._shape = shape
        self._conjoin = conjoin
        self._negate = negate
        self._settled = max(
            [shape.min_items, len(shape.prefix), 1, *(count.first for count in shape.counts)]
        )
        self.has_distinct_texts = shape.is_unique
        self.start = ArrayPlace(counted=(0,) * len(shape.counts))
        self.needs_search = bool(shape.counts) and (
            shape.min_items > 0 or any(count.minimum > 0 for count in shape.counts)
        )
        self._elements: dict[tuple[NodeId, tuple[NodeId | None, ...]], NodeId] = {}

    def steps(self, place: ArrayPlace) -> Iterator[Step[ArrayPlace]]:
        shape = self._shape
        if place.index == shape.max_items:
            return
        index = place.index + 1
        if shape.max_items is None:
            index = min(index, self._settled)
        ways = [
            list(self._ways(count, number, place.index))
            for count, number in zip(shape.counts, place.counted, strict=True)
        ]
        for chosen in product(*ways):
            node = self._element(shape.element(place.index), tuple(extra for extra, _ in chosen))
            yield Step(None, node, ArrayPlace(index, tuple(number for _, number in chosen)))

    def moves(self, place: ArrayPlace) -> Iterator[Move[ArrayPlace]]:
        for step in self.steps(place):
            yield Move(step.node, step.place)

    def least_moves(self, productive: Container[NodeId]) -> int:
        shape = self._shape
        is_open = all(node in productive for node in (*shape.prefix, shape.rest))
        if not is_open or any(count.maximum is not None for count in shape.counts):
            return 0
        least = shape.min_items
        for i, count in enumerate(shape.counts):
            extras = tuple(count.node if i == j else None for j in range(len(shape.counts)))
            if self._element(shape.rest, extras) in productive:
                least = max(least, count.minimum)
        return least if shape.max_items is None else min(least, shape.max_items)

    def may_close(self, place: ArrayPlace) -> bool:
        return place.index >= self._shape.min_items and all(
            number >= count.minimum
            for count, number in zip(self._shape.counts, place.counted, strict=True)
        )

    def live_test(self, productive: Container[NodeId]) -> Callable[[ArrayPlace], bool]:
        return live_places(self, productive).__contains__

    def needed(self) -> Iterator[NodeId]:
        shape = self._shape
        if not self.needs_search:  # else the elements have nodes with conditions in them
            yield from shape.prefix[: shape.min_items]
            if shape.min_items > len(shape.prefix):
                yield shape.rest

    def nodes(self) -> Iterator[NodeId]:
        shape = self._shape
        for index in range(max([len(shape.prefix), *(c.first for c in shape.counts)]) + 1):
            extras = [self._extras(count, index) for count in shape.counts]
            for chosen in product(*extras):
                yield self._element(shape.element(index), chosen)

    def _element(self, node: NodeId, extras: tuple[NodeId | None, ...]) -> NodeId:
        """The node of what is in `node` and in all the extras."""
        known = self._elements.get((node, extras))
        if known is None:
            known = node
            for extra in extras:
                if extra is not None:
                    known = self._conjoin(known, extra)
            self._elements[node, extras] = known
        return known

    def _extras(self, count: Count, index: int) -> list[NodeId | None]:
        """All nodes that `_ways` can yield at an index, whatever has been counted."""
        if index < count.first:
            return [None]
        plain = None if count.maximum is None else self._negate(count.node)
        is_ever_counted = count.minimum > 0 if count.maximum is None else count.maximum > 0
        return [plain, count.node] if is_ever_counted else [plain]

    def _ways(self, count: Count, number: int, index: int) -> Iterator[tuple[NodeId | None, int]]:
        """The element as one that counts and as one that does not: extra node, new count."""
        if index < count.first:
            yield None, number
            return
        if count.maximum is None:
            yield None, number
            if number < count.minimum:
                yield count.node, number + 1
            return
        yield self._negate(count.node), number
        if number < count.maximum:
            yield count.node, number + 1
