"""ExclusiveUnion: the values in exactly one of several (`oneOf`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.value import NodeId, Value

_DEPTH: Final = 3
"""How many levels down two branches are compared before they are taken to overlap."""


class ExclusiveUnion:
    """Makes unions of what is in one branch and in no other.

    Branches that exclude each other, as tagged unions do, are united as they are; only from
    branches that may overlap the others are taken away.

    Args:
        algebra: operations on values.
        try_evaluate: the value of a node, None where it is not known yet.
    """

    def __init__(
        self, algebra: ValueAlgebra, try_evaluate: Callable[[NodeId], Value | None]
    ) -> None:
        self._algebra = algebra
        self._try_evaluate = try_evaluate

    def of(self, branches: list[Value]) -> Value:
        """The values in exactly one of the branches."""
        overlaps = [set[int]() for _ in branches]
        for i, first in enumerate(branches):
            for j in range(i + 1, len(branches)):
                both = self._algebra.intersect(first, branches[j])
                if not self._is_surely_empty(both, _DEPTH):
                    overlaps[i].add(j)
                    overlaps[j].add(i)
        return self._algebra.union(
            self._without(branch, (branches[j] for j in sorted(overlaps[i])))
            for i, branch in enumerate(branches)
        )

    def _without(self, value: Value, others: Iterator[Value]) -> Value:
        for other in others:
            value = self._algebra.intersect(value, self._algebra.complement(other))
        return value

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
