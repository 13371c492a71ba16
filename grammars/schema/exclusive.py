"""ExclusiveUnion: the values in exactly one of several (`oneOf`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from grammars.schema.branch_tags import BranchTags
from grammars.schema.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.node_algebra import NodeAlgebra
    from grammars.schema.value import NodeId

_DEPTH: Final = 3
"""How many levels down two branches are compared before they are taken to overlap."""


@dataclass(frozen=True, slots=True)
class _Tally:
    """Scalars of some branches: those in exactly one, and those in any."""

    once: Value
    any: Value


class ExclusiveUnion:
    """Makes unions of what is in one branch and in no other.

    Scalars are counted, half of the branches against the other half. Objects and arrays that
    exclude each other, as tagged unions do, are united as they are; only from branches that may
    overlap the others are taken away.

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
        self._tags = BranchTags(nodes)
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
        overlaps = [set[int]() for _ in branches]
        for i, j in self._tags.pairs(branches):
            both = self._algebra.intersect(branches[i], branches[j])
            if not self._is_surely_empty(both, _DEPTH):
                overlaps[i].add(j)
                overlaps[j].add(i)
        for branch, others in zip(branches, overlaps, strict=True):
            value = branch
            for j in sorted(others):
                value = self._but(value, branches[j])
            yield value

    def _but(self, value: Value, other: Value) -> Value:
        return value if value.is_empty else self._algebra.difference(value, other)

    def _is_surely_empty(self, value: Value, depth: int) -> bool:
        if value.has_scalar:
            return False
        for shape in value.objects:
            needed = (shape.member(key) for key in shape.required)
            if not any(self._is_surely_unsatisfiable(node, depth) for node in needed):
                return False
        for array in value.arrays:
            elements = (
                array.element(i) for i in range(min(array.min_items, len(array.prefix) + 1))
            )
            if not any(self._is_surely_unsatisfiable(node, depth) for node in elements):
                return False
        return True

    def _is_surely_unsatisfiable(self, node: NodeId, depth: int) -> bool:
        if depth == 0:
            return False
        value = self._try_evaluate(node)
        return value is not None and self._is_surely_empty(value, depth - 1)
