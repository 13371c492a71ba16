"""ExclusiveUnion: the values in exactly one of several (`oneOf`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grammars.schema.overlaps import Overlaps
from grammars.schema.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.node_algebra import NodeAlgebra
    from grammars.schema.value import NodeId


@dataclass(frozen=True, slots=True)
class _Tally:
    """Scalars of some branches: those in exactly one, and those in any."""

    once: Value
    any: Value


class ExclusiveUnion:
    """Makes unions of what is in one branch and in no other.

    Scalars are counted, half of the branches against the other half. Objects and arrays that
    exclude each other, as tagged unions do, are united as they are; from a branch only those are
    taken away that may overlap what is left of it.

    Args:
        algebra: operations on values.
        nodes: what is seen of members.
        try_evaluate: the value of a node, None where it is not known yet.
    """

    def __init__(
        self,
        algebra: ValueAlgebra,
        nodes: NodeAlgebra,
        try_evaluate: Callable[[NodeId], Value | None],
    ) -> None:
        self._algebra = algebra
        self._nodes = nodes
        self._try_evaluate = try_evaluate

    def of(self, branches: list[Value]) -> Value:
        """The values in exactly one of the branches."""
        scalars = [replace(branch, objects=(), arrays=()) for branch in branches]
        shapes = [
            Value(objects=branch.objects, arrays=branch.arrays)
            for branch in branches
            if branch.objects or branch.arrays
        ]
        self._algebra.union(shapes)  # too many are refused before they are compared in pairs
        return self._algebra.union([self._tally(scalars).once, *self._exclusive_shapes(shapes)])

    def _tally(self, scalars: list[Value]) -> _Tally:
        if len(scalars) == 1:
            return _Tally(scalars[0], scalars[0])
        half = len(scalars) // 2
        a, b = self._tally(scalars[:half]), self._tally(scalars[half:])
        once = self._algebra.union([self._but(a.once, b.any), self._but(b.once, a.any)])
        return _Tally(once, self._algebra.union([a.any, b.any]))

    def _exclusive_shapes(self, branches: list[Value]) -> Iterator[Value]:
        overlaps = Overlaps(branches, self._algebra, self._nodes, self._try_evaluate)
        for number, branch in enumerate(branches):
            value = branch
            others = overlaps.with_part(number, value)
            while others:
                other = others.pop(0)
                if overlaps.between(number, other):
                    value = self._but(value, branches[other])
                    others = [j for j in overlaps.with_part(number, value) if j > other]
            yield value

    def _but(self, value: Value, other: Value) -> Value:
        return value if value.is_empty else self._algebra.difference(value, other)
