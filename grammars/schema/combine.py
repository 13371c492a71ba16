"""ValueAlgebra: `and`, `or` and `not` of values; members are combined as graph nodes, lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from grammars.errors import LimitExceededError
from grammars.schema.shapes import ShapeAlgebra
from grammars.schema.value import ArrayShape, ObjectShape, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammars.limits import CompileLimits
    from grammars.schema.node_algebra import NodeAlgebra
    from grammars.schema.scalars import ScalarAlgebra

_Shape = TypeVar("_Shape", ObjectShape, ArrayShape)


class ValueAlgebra:
    """Operations on values.

    A union of shapes is kept as small as is seen without evaluating their members: what surely
    holds nothing is left out, a shape inside another is absorbed by it, and a shape that is of one
    alternative already is not multiplied with the others.

    Args:
        nodes: the members of shapes.
        scalars: operations on sets of numbers and of strings.
        limits: budgets of the automata and of the number of shapes.
        missing_bytes: bytes that the vocabulary cannot spell.

    Attributes:
        scalars: operations on sets of numbers and of strings.
        shapes: operations on object and array shapes.
        everything: all JSON values.
    """

    def __init__(
        self,
        nodes: NodeAlgebra,
        scalars: ScalarAlgebra,
        limits: CompileLimits,
        missing_bytes: frozenset[int] = frozenset(),
    ) -> None:
        self._limits = limits
        self.scalars = scalars
        self.shapes = ShapeAlgebra(nodes, limits, missing_bytes)
        self.everything = nodes.everything
        self._others: dict[ObjectShape, tuple[ObjectShape, ...]] = {}

    def intersect(self, a: Value, b: Value) -> Value:
        """The values that are in both."""
        everything = self.everything
        if a is everything or b is everything:
            return b if a is everything else a
        if everything in (a, b):
            return b if a == everything else a
        return Value(
            has_null=a.has_null and b.has_null,
            booleans=a.booleans & b.booleans,
            numbers=self.scalars.numbers.intersect(a.numbers, b.numbers),
            strings=self.scalars.intersect_strings(a.strings, b.strings),
            objects=self._both_objects(a.objects, b.objects),
            arrays=self._bounded(self._meet_arrays(a.arrays, b.arrays)),
        )

    def union(self, values: Iterable[Value]) -> Value:
        """The values that are in at least one; in pairs, so that no automaton is copied often."""
        level = list(values)
        while len(level) > 1:
            odd = level[len(level) & ~1 :]
            level = [*map(self._unite, level[::2], level[1::2]), *odd]
        return level[0] if level else Value()

    def complement(self, value: Value) -> Value:
        """The values that are not in it."""
        return self.difference(self.everything, value)

    def difference(self, a: Value, b: Value) -> Value:
        """The values that are in `a` and not in `b`."""
        objects = a.objects
        for shape in b.objects:
            objects = self._largest(self._objects_but(objects, shape))
        arrays = a.arrays
        for array in b.arrays:
            other = self._bounded(self.shapes.not_array(array))
            arrays = self._bounded(self._meet_arrays(arrays, other))
        scalars, numbers, strings = self.scalars, a.numbers, a.strings
        if numbers is not None and b.numbers is not None:
            others = scalars.numbers.complement(b.numbers)
            numbers = scalars.numbers.intersect(numbers, others)
        if strings is not None and b.strings is not None:
            strings = scalars.intersect_strings(strings, scalars.complement_strings(b.strings))
        return Value(
            has_null=a.has_null and not b.has_null,
            booleans=a.booleans - b.booleans,
            numbers=numbers,
            strings=strings,
            objects=objects,
            arrays=arrays,
        )

    def _unite(self, a: Value, b: Value) -> Value:
        return Value(
            has_null=a.has_null or b.has_null,
            booleans=a.booleans | b.booleans,
            numbers=self.scalars.numbers.unite(a.numbers, b.numbers),
            strings=self.scalars.unite_strings(a.strings, b.strings),
            objects=self._bounded((*a.objects, *b.objects)),
            arrays=self._bounded((*a.arrays, *b.arrays)),
        )

    def _both_objects(
        self, a: tuple[ObjectShape, ...], b: tuple[ObjectShape, ...]
    ) -> tuple[ObjectShape, ...]:
        both = self._meet_objects(a, b)
        return self._bounded(both) if 1 in (len(a), len(b)) else self._largest(both)

    def _meet_objects(
        self, a: tuple[ObjectShape, ...], b: tuple[ObjectShape, ...]
    ) -> Iterator[ObjectShape]:
        for x in a:
            if any(self.shapes.is_absorbed(x, y) for y in b):
                yield x
                continue
            for y in b:
                both = self.shapes.intersect_objects(x, y)
                if both is not None:
                    yield both

    def _objects_but(
        self, shapes: tuple[ObjectShape, ...], other: ObjectShape
    ) -> Iterator[ObjectShape]:
        broken: tuple[ObjectShape, ...] | None = None
        for shape in shapes:
            if self.shapes.are_surely_apart(shape, other):
                yield shape
            elif not self.shapes.is_surely_inside(shape, other):
                broken = broken or self._all_but(other)
                yield from self._meet_objects((shape,), broken)

    def _all_but(self, shape: ObjectShape) -> tuple[ObjectShape, ...]:
        """All other objects; the same shape is often taken away from many."""
        known = self._others.get(shape)
        if known is None:
            known = self._others[shape] = self._bounded(self.shapes.not_object(shape))
        return known

    def _meet_arrays(
        self, a: tuple[ArrayShape, ...], b: tuple[ArrayShape, ...]
    ) -> Iterator[ArrayShape]:
        for x in a:
            for y in b:
                both = self.shapes.intersect_arrays(x, y)
                if both is not None:
                    yield both

    def _largest(self, shapes: Iterable[ObjectShape]) -> tuple[ObjectShape, ...]:
        """The shapes without those that are seen at once to lie inside another."""
        is_inside = self.shapes.is_surely_inside
        kept: list[tuple[frozenset[str], ObjectShape]] = []
        for shape in shapes:
            required = frozenset(shape.required)  # who lies inside another requires all it does
            if any(fewer <= required and is_inside(shape, other) for fewer, other in kept):
                continue
            kept = [
                (more, other)
                for more, other in kept
                if not (required <= more and is_inside(other, shape))
            ]
            kept.append((required, shape))
            if len(kept) > self._limits.max_products:
                raise LimitExceededError(
                    "max_products", self._limits.max_products, "a combination of unions"
                )
        return tuple([shape for _, shape in kept])

    def _bounded(self, shapes: Iterable[_Shape]) -> tuple[_Shape, ...]:
        distinct: dict[_Shape, None] = {}
        for shape in shapes:
            distinct[shape] = None
            if len(distinct) > self._limits.max_alternatives:
                raise LimitExceededError(
                    "max_alternatives",
                    self._limits.max_alternatives,
                    "a union of objects or arrays",
                )
        return tuple(distinct)
