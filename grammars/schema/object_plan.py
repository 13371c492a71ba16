"""ObjectPlan: an object shape, key by key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grammars.errors import LimitExceededError
from grammars.schema.key_groups import key_groups
from grammars.schema.plans import AllBut, Move, ObjectPlace, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.limits import CompileLimits
    from grammars.schema.key_languages import KeyLanguages
    from grammars.schema.value import KeyClass, NodeId, ObjectShape


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
        self.has_distinct_texts = bool(self._groups)
        owed = frozenset(range(len(shape.witnesses)))
        self.start = ObjectPlace(owed=owed)
        self._is_counted = bool(shape.min_properties or shape.max_properties is not None)
        is_plain = not (self._is_counted or shape.witnesses)
        self._plain_steps = list(self._all_steps()) if is_plain else None
        self.needs_search = bool(
            shape.min_properties or owed or (shape.max_properties is not None and shape.required)
        )

    def steps(self, place: ObjectPlace) -> Iterator[Step[ObjectPlace]]:
        if place.most == self._shape.max_properties:
            return
        past = next(
            (i + 1 for i in range(place.index, len(self._declared)) if self._is_required(i)), None
        )
        if self._plain_steps is not None:
            yield from self._plain_steps[place.index : past]
            return
        for index in range(place.index, len(self._declared) if past is None else past):
            yield from self._declared_steps(place, index)
        if past is None:
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

    def keys(self) -> Iterator[str | CodePointDfa | AllBut]:
        """All keys of all steps."""
        return (entry.key for entry in (*self._declared, *self._groups))

    def needed(self) -> Iterator[NodeId]:
        return (entry.node for entry in self._declared if entry.key in self._required)

    def nodes(self) -> Iterator[NodeId]:
        for entry in (*self._declared, *self._groups):
            yield entry.node
            yield from (node for _, node in entry.as_witnesses)

    def _is_required(self, index: int) -> bool:
        return self._declared[index].key in self._required

    def _all_steps(self) -> Iterator[Step[ObjectPlace]]:
        """The steps of all declared keys, then of the others; every place has some of these."""
        for index in range(len(self._declared)):
            yield from self._declared_steps(self.start, index)
        yield from self._undeclared_steps(self.start)

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
