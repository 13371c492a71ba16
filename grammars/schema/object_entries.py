"""ObjectEntries: the declared keys and the groups of undeclared ones that an object shape has."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from grammars.automata.codepoint_dfa import CodePointDfa
from grammars.errors import LimitExceededError
from grammars.schema.key_groups import has_many_keys, key_groups, listed_keys
from grammars.schema.plans import AllBut, ObjectPlace, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from grammars.limits import CompileLimits
    from grammars.schema.key_languages import KeyLanguages
    from grammars.schema.value import KeyClass, NodeId, ObjectShape

_MAX_DECLARED: Final = 60
"""Declared keys, those of small groups included; one lexer reads no more than about so many."""


class Entry(NamedTuple):
    """A declared key or a group of undeclared ones.

    Attributes:
        key: the name, or the language of the group.
        node: its value.
        as_witnesses: (witnesses, node of a value that is all of them) for each set it can be.
    """

    key: str | CodePointDfa | AllBut
    node: NodeId
    as_witnesses: tuple[tuple[frozenset[int], NodeId], ...] = ()


class ObjectEntries:
    """What the plans of a shape have in common, whatever the order of keys.

    For `minProperties` each undeclared key counts, since no key comes twice where some are owed
    (`ValueGraph.has_owed_keys`): those of groups that never run out of keys (`counted_each`). Of
    other groups, which `key_groups` makes small, one key counts.

    Args:
        shape: the objects.
        conjoin: makes the node of "both of these nodes".
        nothing: the node of no value.
        languages: combines languages of keys.
        limits: budgets of witness sets and of distinct keys.

    Raises:
        LimitExceededError: a budget is used up.
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
        members = shape.declared
        names = tuple(dict.fromkeys((*members, *shape.required)))
        required = frozenset(shape.required)
        self.declared = [
            self._declare(name, members[name] if name in members else shape.undeclared(name))
            for name in names
        ]
        self.is_required = [name in required for name in names]
        if shape.classes or shape.witnesses or shape.min_properties > 1:
            self.groups = [
                self._group(group)
                for group in key_groups(shape, names, nothing, languages, limits.max_distinct_keys)
            ]
        elif shape.additional != nothing:
            self.groups = [Entry(AllBut(frozenset(names)), shape.additional)]
        else:
            self.groups = []
        self.is_counted = bool(shape.min_properties or shape.max_properties is not None)
        self.counted_each = self._never_running_out()
        self.start = ObjectPlace(owed=frozenset(range(len(shape.witnesses))))

    def with_listed_groups(self) -> ObjectEntries:
        """The same objects, with the keys of small groups declared one by one.

        For plans that remember which of the declared keys are written.
        """
        found = copy(self)
        found.declared, found.groups = list(self.declared), []
        for group in self.groups:
            keys = listed_keys(group.key) if isinstance(group.key, CodePointDfa) else None
            if keys is None or len(found.declared) + len(keys) > _MAX_DECLARED:
                found.groups.append(group)
            else:
                found.declared += [self._declare(key, group.node) for key in keys]
        num_more = len(found.declared) - len(self.declared)
        found.is_required = self.is_required + [False] * num_more
        found.counted_each = found._never_running_out()  # noqa: SLF001 - a copy of this object
        return found

    def _never_running_out(self) -> frozenset[int]:
        """The groups that surely have as many keys as an object must have; none where none must."""
        if not self.is_counted:
            return frozenset()
        fewest = self._shape.min_properties
        return frozenset(
            number
            for number, group in enumerate(self.groups)
            if isinstance(group.key, AllBut)
            or (isinstance(group.key, CodePointDfa) and has_many_keys(group.key, fewest))
        )

    def keys(self) -> Iterator[str | CodePointDfa | AllBut]:
        """The keys of all entries."""
        return (entry.key for entry in (*self.declared, *self.groups))

    def needed(self) -> Iterator[NodeId]:
        """The nodes of the required keys."""
        pairs = zip(self.declared, self.is_required, strict=True)
        return (entry.node for entry, is_required in pairs if is_required)

    def least_moves(self, productive: Container[NodeId]) -> int:
        """See `Plan`: one for each key that there must be, where some group has that many."""
        is_endless = any(self.groups[number].node in productive for number in self.counted_each)
        return self._shape.min_properties if is_endless else 0

    def nodes(self) -> Iterator[NodeId]:
        """The nodes of all entries, as whatever they are written."""
        for entry in (*self.declared, *self.groups):
            yield entry.node
            yield from (node for _, node in entry.as_witnesses)

    def undeclared_steps(self, place: ObjectPlace) -> Iterator[Step[ObjectPlace]]:
        """Any undeclared key, at a place after those that have to come before it."""
        for number, entry in enumerate(self.groups):
            if number not in place.closed:
                yield from self.ways(entry, self.count_group(place, number), number)

    def ways(
        self, entry: Entry, after: ObjectPlace, group: int | None = None
    ) -> Iterator[Step[ObjectPlace]]:
        """The entry as itself, and as any of the witnesses that are still owed."""
        yield Step(entry.key, entry.node, after)
        for witnesses, node in entry.as_witnesses:
            if witnesses <= after.owed:
                closed = after.closed if group is None else after.closed | {group}
                yield Step(entry.key, node, after.with_owed(after.owed - witnesses, closed))

    def count(self, place: ObjectPlace) -> ObjectPlace:
        """The place after one more key, which is surely a new one."""
        if not self.is_counted:
            return place
        fewest = min(place.fewest + 1, self._shape.min_properties)
        return replace(
            place,
            fewest=fewest,
            most=place.most + (self._shape.max_properties is not None),
            met=frozenset() if fewest == self._shape.min_properties else place.met,
        )

    def count_group(self, place: ObjectPlace, number: int) -> ObjectPlace:
        """The place after one more key of a group."""
        counted = self.count(place)
        if number in self.counted_each:
            return counted
        if number in place.met:
            return replace(counted, fewest=place.fewest, met=place.met)
        if counted.fewest == self._shape.min_properties:
            return counted
        return replace(counted, met=place.met | {number})

    def _declare(self, name: str, node: NodeId) -> Entry:
        if not self._shape.witnesses:
            return Entry(name, node)
        return Entry(name, node, self._witness_nodes(node, lambda keys: keys.accepts(name)))

    def _group(self, group: KeyClass) -> Entry:
        def is_inside(keys: CodePointDfa) -> bool:
            # groups are cut at witnesses' languages
            return not self._languages.both(group.keys, keys).is_empty

        return Entry(group.keys, group.node, self._witness_nodes(group.node, is_inside))

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
