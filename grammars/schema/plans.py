"""Plans: an object or array shape as steps from place to place, one per key or element.

A place says how far an object or array has got: what may still be written, and what is still owed.
It is the one description that both the emptiness check and the lowering follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from grammars.errors import LimitExceededError
from grammars.schema.key_groups import key_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.limits import CompileLimits
    from grammars.schema.key_languages import KeyLanguages
    from grammars.schema.value import ArrayShape, Count, KeyClass, NodeId, ObjectShape


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
        met: groups of undeclared keys of which one has been written, until the minimum is reached.
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
class Move(Generic[PlaceT]):
    """The smallest step of a search.

    Args:
        node: the value of a key or element; None where a declared key is left out.
        place: the place after it.
    """

    node: NodeId | None
    place: PlaceT


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
    def max_places(self) -> int:
        """Places that a search may visit."""
        ...

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

    def moves(self, place: PlaceT) -> Iterator[Move[PlaceT]]:
        """The same, declared keys left out one by one: few moves, however many keys there are."""
        ...

    def may_close(self, place: PlaceT) -> bool:
        """Whether nothing is owed."""
        ...

    def nodes(self) -> Iterator[NodeId]:
        """The nodes of all steps."""
        ...

    def needed(self) -> Iterator[NodeId]:
        """Nodes without which the shape cannot be closed; all of them unless `needs_search`."""
        ...


def live_places(plan: Plan[PlaceT], productive: Container[NodeId]) -> frozenset[PlaceT]:
    """The places reachable by productive nodes from which the shape can be closed.

    Raises:
        LimitExceededError: there are too many places.
    """
    comes_from: dict[PlaceT, list[PlaceT]] = {plan.start: []}
    order, num_moves = [plan.start], 0
    for place in order:
        for move in plan.moves(place):
            num_moves += 1
            if num_moves > plan.max_places:
                raise LimitExceededError(
                    "max_places", plan.max_places, "an object or array with counts"
                )
            if move.node is not None and move.node not in productive:
                continue
            if move.place not in comes_from:
                comes_from[move.place] = []
                order.append(move.place)
            comes_from[move.place].append(place)
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
        languages: combines languages of keys.
        limits: budgets of witness sets, of distinct keys and of places.
    """

    def __init__(
        self,
        shape: ObjectShape,
        conjoin: Callable[[NodeId, NodeId], NodeId],
        nothing: NodeId,
        languages: KeyLanguages,
        limits: CompileLimits,
    ) -> None:
        self._shape = shape
        self._conjoin = conjoin
        self._languages = languages
        self._max_witness_sets = limits.max_witness_sets
        self.max_places = limits.max_places
        names = tuple(dict.fromkeys([*dict(shape.properties), *shape.required]))
        self._required = frozenset(shape.required)
        members = dict(shape.properties)
        self._declared = [
            self._declare(name, members[name] if name in members else shape.undeclared(name))
            for name in names
        ]
        self._num_needed = max(
            (i + 1 for i, name in enumerate(names) if name in self._required), default=0
        )
        if shape.classes or shape.witnesses or shape.min_properties > 1:
            self._groups = [
                self._group(group)
                for group in key_groups(shape, names, nothing, languages, limits.max_distinct_keys)
            ]
        elif shape.additional != nothing:
            self._groups = [_Entry(AllBut(frozenset(names)), shape.additional, ())]
        else:
            self._groups = []
        owed = frozenset(range(len(shape.witnesses)))
        self.start = ObjectPlace(owed=owed)
        self._is_counted = bool(shape.min_properties or shape.max_properties is not None)
        self.needs_search = bool(
            shape.min_properties or owed or (shape.max_properties is not None and shape.required)
        )

    def steps(self, place: ObjectPlace) -> Iterator[Step[ObjectPlace]]:
        if place.most == self._shape.max_properties:
            return
        for index in range(place.index, len(self._declared)):
            yield from self._declared_steps(place, index)
            if self._declared[index].key in self._required:
                return
        yield from self._undeclared_steps(place)

    def moves(self, place: ObjectPlace) -> Iterator[Move[ObjectPlace]]:
        is_declared = place.index < len(self._declared)
        if is_declared and self._declared[place.index].key not in self._required:
            yield Move(None, replace(place, index=place.index + 1))
        if place.most == self._shape.max_properties:
            return
        steps = (
            self._declared_steps(place, place.index)
            if is_declared
            else self._undeclared_steps(place)
        )
        for step in steps:
            yield Move(step.node, step.place)

    def may_close(self, place: ObjectPlace) -> bool:
        return (
            place.fewest >= self._shape.min_properties
            and not place.owed
            and place.index >= self._num_needed
        )

    def needed(self) -> Iterator[NodeId]:
        return (entry.node for entry in self._declared if entry.key in self._required)

    def nodes(self) -> Iterator[NodeId]:
        for entry in (*self._declared, *self._groups):
            yield entry.node
            yield from (node for _, node in entry.as_witnesses)

    def _declared_steps(self, place: ObjectPlace, index: int) -> Iterator[Step[ObjectPlace]]:
        yield from self._ways(self._declared[index], self._count(replace(place, index=index + 1)))

    def _undeclared_steps(self, place: ObjectPlace) -> Iterator[Step[ObjectPlace]]:
        beyond = replace(place, index=len(self._declared))
        for number, entry in enumerate(self._groups):
            if number not in place.closed:
                yield from self._ways(entry, self._count_group(beyond, number), number)

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
        fewest = min(place.fewest + 1, self._shape.min_properties)
        return replace(
            place,
            fewest=fewest,
            most=place.most + (self._shape.max_properties is not None),
            met=frozenset() if fewest == self._shape.min_properties else place.met,
        )

    def _count_group(self, place: ObjectPlace, number: int) -> ObjectPlace:
        counted = self._count(place)
        if number in place.met:
            return replace(counted, fewest=place.fewest, met=place.met)
        if counted.fewest == self._shape.min_properties:
            return counted
        return replace(counted, met=place.met | {number})

    def _declare(self, name: str, node: NodeId) -> _Entry:
        return _Entry(name, node, self._witness_nodes(node, lambda keys: keys.accepts(name)))

    def _group(self, group: KeyClass) -> _Entry:
        def is_inside(keys: CodePointDfa) -> bool:
            # groups are cut at witnesses' languages
            return not self._languages.both(group.keys, keys).is_empty

        return _Entry(group.keys, group.node, self._witness_nodes(group.node, is_inside))

    def _witness_nodes(
        self, node: NodeId, is_inside: Callable[[CodePointDfa], bool]
    ) -> tuple[tuple[frozenset[int], NodeId], ...]:
        found: list[tuple[frozenset[int], NodeId]] = [(frozenset(), node)]
        for number, witness in enumerate(self._shape.witnesses):
            if is_inside(witness.keys):
                found += [(s | {number}, self._conjoin(n, witness.node)) for s, n in found]
            if len(found) > self._max_witness_sets:
                raise LimitExceededError(
                    "max_witness_sets", self._max_witness_sets, "an object with conditions on keys"
                )
        return tuple(found[1:])


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

    def may_close(self, place: ArrayPlace) -> bool:
        return place.index >= self._shape.min_items and all(
            number >= count.minimum
            for count, number in zip(self._shape.counts, place.counted, strict=True)
        )

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
