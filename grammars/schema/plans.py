"""Plans: an object or array shape as steps from place to place, one per key or element.

A place says how far an object or array has got: what may still be written, and what is still owed.
It is the one description that both the emptiness check and the lowering follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from grammars.errors import LimitExceededError
from grammars.schema.key_groups import key_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.schema.value import ArrayShape, Count, KeyClass, NodeId, ObjectShape

_MAX_PLACES: Final = 20_000
_MAX_WITNESS_SETS: Final = 64


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """How far an object has got.

    Args:
        index: declared keys before this one are done.
        fewest: keys written that surely differ from each other, no further than the minimum.
        most: keys written, where there is a maximum.
        owed: witnesses that have not appeared.
        closed: groups of undeclared keys that may not be written any more: a witness was of the
            group, and a later duplicate of its key would take its place.
        met: groups of undeclared keys of which one has been written, where keys are counted.
    """

    index: int = 0
    fewest: int = 0
    most: int = 0
    owed: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()
    met: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """How far an array has got.

    Args:
        index: elements written; beyond what matters it stays.
        counted: for each count of the shape, the elements of its kind, no further than it matters.
    """

    index: int = 0
    counted: tuple[int, ...] = ()


PlaceT = TypeVar("PlaceT", bound=ObjectPlace | ArrayPlace)


@dataclass(frozen=True, slots=True)
class AllBut:
    """All keys but some; the automaton is made only where such a key is really read."""

    declared: frozenset[str]


@dataclass(frozen=True, slots=True)
class Step(Generic[PlaceT]):
    """One key or element, and the place after it.

    Args:
        key: the declared key; the language of an undeclared one; None for an element.
        node: its value.
        place: the place after it.
    """

    key: str | CodePointDfa | AllBut | None
    node: NodeId
    place: PlaceT


class Plan(Protocol[PlaceT]):
    """The steps of a shape."""

    @property
    def start(self) -> PlaceT:
        """The place after the opening bracket."""
        ...

    @property
    def needs_search(self) -> bool:
        """Whether a step can lead to a place from which the shape cannot be closed."""
        ...

    def steps(self, place: PlaceT) -> Iterator[Step[PlaceT]]:
        """What may be written at a place, in generation order, whatever its nodes hold."""
        ...

    def may_close(self, place: PlaceT) -> bool:
        """Whether nothing is owed."""
        ...

    def nodes(self) -> Iterator[NodeId]:
        """The nodes of all steps."""
        ...


def live_places(plan: Plan[PlaceT], productive: Container[NodeId]) -> frozenset[PlaceT]:
    """The places reachable by productive nodes from which the shape can be closed.

    Raises:
        LimitExceededError: there are too many places.
    """
    comes_from: dict[PlaceT, list[PlaceT]] = {plan.start: []}
    order = [plan.start]
    for place in order:
        for step in plan.steps(place):
            if step.node not in productive:
                continue
            if step.place not in comes_from:
                if len(order) >= _MAX_PLACES:
                    raise LimitExceededError(
                        "max_places", _MAX_PLACES, "an object or array with counts"
                    )
                comes_from[step.place] = []
                order.append(step.place)
            comes_from[step.place].append(place)
    live = [place for place in order if plan.may_close(place)]
    seen = set(live)
    for place in live:
        new = [before for before in comes_from[place] if before not in seen]
        seen.update(new)
        live += new
    return frozenset(seen)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A declared key or a group of undeclared ones.

    Args:
        key: the name, or the language of the group.
        node: its value.
        as_witnesses: (witnesses, node of a value that is all of them) for each set it can be.
    """

    key: str | CodePointDfa | AllBut
    node: NodeId
    as_witnesses: tuple[tuple[frozenset[int], NodeId], ...]


class ObjectPlan:
    """Declared keys in order, then undeclared ones in any order.

    Undeclared keys might repeat each other, so for `minProperties` those of one group count once
    (`key_groups` cuts the groups accordingly).

    Args:
        shape: the objects.
        conjoin: makes the node of "both of these nodes".
        nothing: the node of no value.
        max_states: budget of each automaton of keys.
    """

    def __init__(
        self,
        shape: ObjectShape,
        conjoin: Callable[[NodeId, NodeId], NodeId],
        nothing: NodeId,
        max_states: int,
    ) -> None:
        self._shape = shape
        self._conjoin = conjoin
        names = tuple(dict.fromkeys([*dict(shape.properties), *shape.required]))
        self._required = frozenset(shape.required)
        self._declared = [self._declare(name, shape.member(name)) for name in names]
        groups = (
            [self._group(group) for group in key_groups(shape, names, max_states)]
            if shape.classes or shape.witnesses or shape.min_properties > 1
            else [_Entry(AllBut(frozenset(names)), shape.additional, ())]
        )
        self._groups = [entry for entry in groups if entry.node != nothing]
        owed = frozenset(range(len(shape.witnesses)))
        self.start = ObjectPlace(owed=owed)
        self._is_counted = bool(shape.min_properties or shape.max_properties is not None)
        self.needs_search = self._is_counted or bool(owed)

    def steps(self, place: ObjectPlace) -> Iterator[Step[ObjectPlace]]:
        if place.most == self._shape.max_properties:
            return
        for index in range(place.index, len(self._declared)):
            entry = self._declared[index]
            counted = self._count(replace(place, index=index + 1))
            yield from self._ways(entry, counted)
            if entry.key in self._required:
                return
        beyond = replace(place, index=len(self._declared))
        for number, entry in enumerate(self._groups):
            if number not in place.closed:
                yield from self._ways(entry, self._count_group(beyond, number), number)

    def may_close(self, place: ObjectPlace) -> bool:
        return (
            place.fewest >= self._shape.min_properties
            and not place.owed
            and not any(entry.key in self._required for entry in self._declared[place.index :])
        )

    def nodes(self) -> Iterator[NodeId]:
        for entry in (*self._declared, *self._groups):
            yield entry.node
            yield from (node for _, node in entry.as_witnesses)

    def _ways(
        self, entry: _Entry, after: ObjectPlace, group: int | None = None
    ) -> Iterator[Step[ObjectPlace]]:
        """The entry as itself, and as any of the witnesses that are still owed."""
        yield Step(entry.key, entry.node, after)
        for witnesses, node in entry.as_witnesses:
            if witnesses <= after.owed:
                paid = replace(after, owed=after.owed - witnesses)
                if group is not None:
                    paid = replace(paid, closed=paid.closed | {group})
                yield Step(entry.key, node, paid)

    def _count(self, place: ObjectPlace) -> ObjectPlace:
        if not self._is_counted:
            return place
        return replace(
            place,
            fewest=min(place.fewest + 1, self._shape.min_properties),
            most=place.most + (self._shape.max_properties is not None),
        )

    def _count_group(self, place: ObjectPlace, number: int) -> ObjectPlace:
        counted = self._count(place)
        if not self._shape.min_properties or place.fewest == self._shape.min_properties:
            return counted
        if number in place.met:
            return replace(counted, fewest=place.fewest)
        return replace(counted, met=place.met | {number})

    def _declare(self, name: str, node: NodeId) -> _Entry:
        return _Entry(name, node, self._witness_nodes(node, lambda keys: keys.accepts(name)))

    def _group(self, group: KeyClass) -> _Entry:
        def is_inside(keys: CodePointDfa) -> bool:
            return not group.keys.intersect(keys).is_empty  # groups are cut at witnesses' languages

        return _Entry(group.keys, group.node, self._witness_nodes(group.node, is_inside))

    def _witness_nodes(
        self, node: NodeId, is_inside: Callable[[CodePointDfa], bool]
    ) -> tuple[tuple[frozenset[int], NodeId], ...]:
        found: list[tuple[frozenset[int], NodeId]] = [(frozenset(), node)]
        for number, witness in enumerate(self._shape.witnesses):
            if is_inside(witness.keys):
                found += [(s | {number}, self._conjoin(n, witness.node)) for s, n in found]
            if len(found) > _MAX_WITNESS_SETS:
                raise LimitExceededError(
                    "max_witness_sets", _MAX_WITNESS_SETS, "an object with many conditions on keys"
                )
        return tuple(found[1:])


class ArrayPlan:
    """Elements one after the other.

    Args:
        shape: the arrays.
        conjoin: makes the node of "both of these nodes".
        negate: makes the node of everything but a node.
    """

    def __init__(
        self,
        shape: ArrayShape,
        conjoin: Callable[[NodeId, NodeId], NodeId],
        negate: Callable[[NodeId], NodeId],
    ) -> None:
        self._shape = shape
        self._conjoin = conjoin
        self._negate = negate
        self._settled = max(
            [shape.min_items, len(shape.prefix), 1, *(count.first for count in shape.counts)]
        )
        self.start = ArrayPlace(counted=(0,) * len(shape.counts))
        self.needs_search = bool(shape.counts)

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
            node = shape.element(place.index)
            for extra, _ in chosen:
                if extra is not None:
                    node = self._conjoin(node, extra)
            yield Step(None, node, ArrayPlace(index, tuple(number for _, number in chosen)))

    def may_close(self, place: ArrayPlace) -> bool:
        return place.index >= self._shape.min_items and all(
            number >= count.minimum
            for count, number in zip(self._shape.counts, place.counted, strict=True)
        )

    def nodes(self) -> Iterator[NodeId]:
        if not self._shape.counts:
            yield from (*self._shape.prefix, self._shape.rest)
            return
        seen, order = {self.start}, [self.start]
        for place in order:
            for step in self.steps(place):
                yield step.node
                if step.place not in seen and len(order) < _MAX_PLACES:
                    seen.add(step.place)
                    order.append(step.place)

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
