"""Overlaps: which branches of a `oneOf` may have an object or array in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.schema.branch_index import BranchIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.node_algebra import NodeAlgebra
    from grammars.schema.value import NodeId, Value

_DEPTH: Final = 3
"""How many levels down two branches are compared before they are taken to overlap."""


class Overlaps:
    """The overlaps of some branches, each looked for when it is asked for.

    Args:
        branches: without scalars.
        algebra: operations on values.
        nodes: what is seen of members.
        try_evaluate: the value of a node, None where it is not known yet.
    """

    def __init__(
        self,
        branches: Sequence[Value],
        algebra: ValueAlgebra,
        nodes: NodeAlgebra,
        try_evaluate: Callable[[NodeId], Value | None],
    ) -> None:
        self._branches = branches
        self._algebra = algebra
        self._index = BranchIndex(branches, nodes)
        self._try_evaluate = try_evaluate
        self._known: dict[frozenset[int], bool] = {}

    def with_part(self, number: int, part: Value) -> list[int]:
        """Branches, ascending, that a part of a branch may have something in common with."""
        return sorted(self._index.near(part) - {number})

    def between(self, i: int, j: int) -> bool:
        """Whether two branches may have something in common."""
        pair = frozenset((i, j))
        known = self._known.get(pair)
        if known is None:
            both = self._algebra.intersect(self._branches[i], self._branches[j])
            known = self._known[pair] = not self._is_surely_empty(both, _DEPTH)
        return known

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
