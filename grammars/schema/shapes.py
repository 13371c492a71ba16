"""ShapeAlgebra: `and` and `not` of object and array shapes, member by member."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, starmap
from typing import TYPE_CHECKING

from grammars.errors import LimitExceededError
from grammars.schema.key_languages import KeyLanguages
from grammars.schema.value import ArrayShape, Count, KeyClass, ObjectShape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.limits import CompileLimits
    from grammars.schema.node_algebra import NodeAlgebra
    from grammars.schema.value import NodeId


class ShapeAlgebra:
    """Operations on shapes.

    Args:
        nodes: the members of shapes.
        limits: budgets of the languages of keys.
        missing_bytes: bytes that the vocabulary cannot spell.
    """

    def __init__(
        self, nodes: NodeAlgebra, limits: CompileLimits, missing_bytes: frozenset[int] = frozenset()
    ) -> None:
        self._nodes = nodes
        self._conjoin = nodes.conjoin
        self._negate = nodes.negate
        self._anything = nodes.anything
        self._nothing = nodes.nothing
        self.languages = KeyLanguages(limits, missing_bytes)
        self._max_comparisons = limits.max_comparisons
        self._num_comparisons = 0
        [self.any_object] = nodes.everything.objects
        [self.any_array] = nodes.everything.arrays

    def intersect_objects(self, a: ObjectShape, b: ObjectShape) -> ObjectShape | None:
        """The objects of both shapes; None where that surely is none."""
        if a == self.any_object or b == self.any_object:
            return b if a == self.any_object else a
        if self.are_surely_apart(a, b):
            return None
        self._count(len(a.properties) + len(b.properties))
        low, high = _meet_properties(a, b)
        both = ObjectShape(
            properties=tuple(self._meet_members(a, b).items()),
            required=tuple(dict.fromkeys([*a.required, *b.required])),
            additional=self._conjoin(a.additional, b.additional),
            classes=tuple(self._meet_classes(a, b)) if a.classes or b.classes else (),
            witnesses=tuple(dict.fromkeys([*a.witnesses, *b.witnesses])),
            min_properties=low,
            max_properties=high,
        )
        return self._with_named_witnesses(both) if both.witnesses else both

    def _meet_members(self, a: ObjectShape, b: ObjectShape) -> dict[str, NodeId]:
        """The nodes of the keys that either shape declares, first those of `a`."""
        conjoin = self._conjoin
        if self._is_open(b):
            members = dict(a.declared)
        else:
            members = {name: conjoin(node, b.member(name)) for name, node in a.properties}
        for name, node in b.properties:
            members[name] = conjoin(a.member(name), node)
        return members

    def _is_open(self, shape: ObjectShape) -> bool:
        """Whether keys that a shape does not declare may have any value."""
        return shape.additional == self._anything and not shape.classes

    def are_surely_apart(self, a: ObjectShape, b: ObjectShape) -> bool:
        """Whether it is seen that no object is of both: by counts, or by a required key."""
        low, high = _meet_properties(a, b)
        required = dict.fromkeys([*a.required, *b.required])
        if high is not None and max(low, len(required)) > high:
            return True
        self._count(len(required))
        conjoin, nothing = self._conjoin, self._nothing
        return any(conjoin(a.member(name), b.member(name)) == nothing for name in required)

    def intersect_arrays(self, a: ArrayShape, b: ArrayShape) -> ArrayShape | None:
        """The arrays of both shapes; None where that surely is none."""
        low, high = _meet((a.min_items, a.max_items), (b.min_items, b.max_items))
        is_unique = a.is_unique or b.is_unique
        has_repeats = a.has_repeats or b.has_repeats
        if (high is not None and low > high) or (is_unique and has_repeats):
            return None
        length = max(len(a.prefix), len(b.prefix))
        return ArrayShape(
            prefix=tuple(self._conjoin(a.element(i), b.element(i)) for i in range(length)),
            rest=self._conjoin(a.rest, b.rest),
            min_items=low,
            max_items=high,
            counts=tuple(dict.fromkeys([*a.counts, *b.counts])),
            is_unique=is_unique,
            has_repeats=has_repeats,
        )

    def not_object(self, shape: ObjectShape) -> Iterator[ObjectShape]:
        """Shapes whose union is all other objects: one for each way to break `shape`.

        A required key is broken by its absence and by its value: one shape, where it is optional.
        Where a key is a tag, all other ways keep it: of many tagged shapes, each is then broken by
        another tag or in its own way, and the ways are not multiplied.
        """
        tags = (p for p in shape.properties if self._nodes.tag_values(p[1]) is not None)
        kept = dict(islice(tags, 1))
        some = replace(self.any_object, properties=tuple(kept.items()))
        for name in dict.fromkeys([*shape.declared, *shape.required]):
            node = shape.member(name)
            broken = tuple((kept | {name: self._negate(node)}).items())
            if name in shape.required:
                yield replace(some, properties=broken)
            elif node != self._anything:
                yield replace(some, properties=broken, required=(name,))
        for group in self._undeclared(shape):
            if group.node != self._anything and not group.keys.is_empty:
                yield replace(some, witnesses=(replace(group, node=self._negate(group.node)),))
        for group in shape.witnesses:
            yield self.with_patterns(some, [(group.keys, self._negate(group.node))])
        if shape.min_properties > 0:
            yield replace(some, max_properties=shape.min_properties - 1)
        if shape.max_properties is not None:
            yield replace(some, min_properties=shape.max_properties + 1)

    def not_array(self, shape: ArrayShape) -> Iterator[ArrayShape]:
        """Shapes whose union is all other arrays."""
        some = self.any_array
        if shape.min_items > 0:
            yield replace(some, max_items=shape.min_items - 1)
        if shape.max_items is not None:
            yield replace(some, min_items=shape.max_items + 1)
        for index, node in enumerate(shape.prefix):
            if node != self._anything:
                prefix = (*[self._anything] * index, self._negate(node))
                yield replace(some, prefix=prefix, min_items=index + 1)
        if shape.rest != self._anything:
            yield self._with_count(Count(len(shape.prefix), self._negate(shape.rest), 1, None))
        for count in shape.counts:
            if count.minimum > 0:
                yield self._with_count(replace(count, minimum=0, maximum=count.minimum - 1))
            if count.maximum is not None:
                yield self._with_count(replace(count, minimum=count.maximum + 1, maximum=None))
        if shape.is_unique:
            yield replace(some, has_repeats=True)
        if shape.has_repeats:
            yield replace(some, is_unique=True)

    def is_surely_inside(self, a: ObjectShape, b: ObjectShape) -> bool:
        """Whether `a` is seen to be a part of `b`; no node is evaluated."""
        if b.max_properties is not None and (
            a.max_properties is None or a.max_properties > b.max_properties
        ):
            return False
        if a.min_properties < b.min_properties or not (
            set(a.required).issuperset(b.required) and set(a.witnesses).issuperset(b.witnesses)
        ):
            return False
        return all(starmap(self._nodes.is_surely_inside, self._members_of_both(a, b)))

    def is_absorbed(self, a: ObjectShape, b: ObjectShape) -> bool:
        """Whether the objects of both are surely those of `a`, keys in the same order."""
        return b.declared.keys() <= a.declared.keys() and self.is_surely_inside(a, b)

    def _members_of_both(self, a: ObjectShape, b: ObjectShape) -> Iterator[tuple[NodeId, NodeId]]:
        """The nodes of each key in both shapes; where a language of keys differs, of any in `a`.

        Keys with the same node in both are left out.
        """
        yield a.additional, b.additional
        if a.classes != b.classes:
            yield from ((self._anything, node) for node in self._nodes_of_groups(b))
        # Most of the shapes that are compared are alike in all but a few of their keys.
        different = b.declared.items() - a.declared.items()
        self._count(len(different))
        for name, node in different:
            yield a.member(name), node
        if not self._is_open(b):
            undeclared = a.declared.keys() - b.declared.keys()
            self._count(len(undeclared))
            for name in undeclared:
                yield a.declared[name], b.undeclared(name)

    def _with_named_witnesses(self, shape: ObjectShape) -> ObjectShape | None:
        """The shape, in which a witness that can be one declared key alone is that required key.

        None where it is seen that no key of an object can be one of the witnesses.
        """
        members, required = dict(shape.declared), dict.fromkeys(shape.required)
        unnamed: list[KeyClass] = []
        for witness in shape.witnesses:
            fits = self._fits(witness)
            if any(map(fits, self._nodes_of_groups(shape))):
                unnamed.append(witness)
                continue
            names = [n for n, node in members.items() if fits(node) and witness.keys.accepts(n)]
            match names:
                case []:
                    return None
                case [name]:
                    members[name] = self._conjoin(members[name], witness.node)
                    required[name] = None
                case _:
                    unnamed.append(witness)
        if len(unnamed) == len(shape.witnesses):
            return shape
        return replace(
            shape,
            properties=tuple(members.items()),
            required=tuple(required),
            witnesses=tuple(unnamed),
        )

    def _fits(self, witness: KeyClass) -> Callable[[NodeId], bool]:
        """Whether it is not seen that no value of a node can be that of a witness."""
        return lambda node: self._conjoin(node, witness.node) != self._nothing

    @staticmethod
    def _nodes_of_groups(shape: ObjectShape) -> list[NodeId]:
        return [shape.additional, *(group.node for group in shape.classes)]

    def with_patterns(
        self, shape: ObjectShape, patterns: Iterable[tuple[CodePointDfa, NodeId]]
    ) -> ObjectShape:
        """The shape in which keys of each language have values of its node too.

        A key of no language keeps the node it had; `additional` is for keys of none.
        """
        properties = dict(shape.declared)
        classes: list[KeyClass] = []
        for keys, node in patterns:
            for name, own in properties.items():
                if keys.accepts(name):
                    properties[name] = self._conjoin(own, node)
            fresh = keys
            refined: list[KeyClass] = []
            for group in classes:
                refined.append(
                    KeyClass(self.languages.both(group.keys, keys), self._conjoin(group.node, node))
                )
                refined.append(replace(group, keys=self.languages.but(group.keys, keys)))
                fresh = self.languages.but(fresh, group.keys)
            refined.append(KeyClass(fresh, node))
            classes = [group for group in refined if not group.keys.is_empty]
        return replace(shape, properties=tuple(properties.items()), classes=tuple(classes))

    def _with_count(self, count: Count) -> ArrayShape:
        return replace(self.any_array, counts=(count,))

    def _meet_classes(self, a: ObjectShape, b: ObjectShape) -> Iterator[KeyClass]:
        """The classes of keys that are in a class of either shape."""
        for group in a.classes:
            rest = group.keys
            for other in b.classes:
                yield from self._class(
                    self.languages.both(group.keys, other.keys),
                    self._conjoin(group.node, other.node),
                )
                rest = self.languages.but(rest, other.keys)
            yield from self._class(rest, self._conjoin(group.node, b.additional))
        for other in b.classes:
            rest = other.keys
            for group in a.classes:
                rest = self.languages.but(rest, group.keys)
            yield from self._class(rest, self._conjoin(other.node, a.additional))

    def _undeclared(self, shape: ObjectShape) -> Iterator[KeyClass]:
        """Classes that together hold all keys that the shape does not declare."""
        names = self.languages.named(frozenset(shape.declared))
        rest = self.languages.everything
        for group in shape.classes:
            yield replace(group, keys=self.languages.but(group.keys, names))
            rest = self.languages.but(rest, group.keys)
        yield KeyClass(self.languages.but(rest, names), shape.additional)

    def _count(self, num_members: int) -> None:
        """Count a comparison of two shapes, of which so many members are looked at.

        Raises:
            LimitExceededError: there were too many.
        """
        self._num_comparisons += 1 + num_members
        if self._num_comparisons > self._max_comparisons:
            raise LimitExceededError(
                "max_comparisons", self._max_comparisons, "a combination of unions"
            )

    @staticmethod
    def _class(keys: CodePointDfa, node: NodeId) -> Iterator[KeyClass]:
        if not keys.is_empty:
            yield KeyClass(keys, node)


def _meet_properties(a: ObjectShape, b: ObjectShape) -> tuple[int, int | None]:
    return _meet((a.min_properties, a.max_properties), (b.min_properties, b.max_properties))


def _meet(a: tuple[int, int | None], b: tuple[int, int | None]) -> tuple[int, int | None]:
    highs = [high for high in (a[1], b[1]) if high is not None]
    return max(a[0], b[0]), min(highs) if highs else None
